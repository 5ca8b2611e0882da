import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { JsonValue } from '../src/base/index.js';
import { parseInferOptions } from '../src/execution/inference/inferOptions.js';
import { chatRequest } from '../src/gateway/models/chat/chatRequest.js';
import { gatewayOptions } from '../src/gateway/options.js';
import { checkSampling } from '../src/inference/sampling/checkSampling.js';
import { sampleToken } from '../src/inference/sampling/sampleToken.js';
import { plainSampling, type SamplingOptions } from '../src/platform/index.js';

const names = [
  'temperature',
  'top_p',
  'top_k',
  'min_p',
  'typical_p',
  'repetition_penalty',
  'presence_penalty',
  'frequency_penalty',
  'seed',
  'max_tokens',
] as const;
type Given = { readonly [name in (typeof names)[number] | 'stop']?: number | string };

const edges = [0, 5e-324, 1e-300, 1e-45, 1e-40, 1e-5, 0.01, 0.5, 1, 1.5, 2, 10, 100, 101, 1e38, 1e39, 1e300, Number.MAX_VALUE];
const whole = [2 ** 31, 2 ** 32 + 1, 2 ** 53 - 1, 2 ** 53];
const value = fc.oneof(
  fc.constantFrom(...[...edges, ...whole].flatMap((one) => [one, -one])),
  fc.double({ noNaN: true, min: -3, max: 110 }),
);
const given: fc.Arbitrary<Given> = fc.oneof(
  fc.tuple(fc.constantFrom(...names), value).map(([name, one]) => ({ [name]: one })),
  fc.record(Object.fromEntries(names.map((name) => [name, value])), { requiredKeys: [] }),
  fc.constantFrom('', 'x', 'x'.repeat(300)).map((stop) => ({ stop })),
);

const ofAql = (options: Given): SamplingOptions => {
  const parsed = parseInferOptions(options as JsonValue).options;
  const [topP, topK, minP, typicalP] = [parsed.top_p, parsed.top_k, parsed.min_p, parsed.typical_p];
  const repetitionPenalty = parsed.repetition_penalty;
  const [presencePenalty, frequencyPenalty] = [parsed.presence_penalty, parsed.frequency_penalty];
  const { temperature, stop, seed, max_tokens: tokensMax } = parsed;
  const filters = { temperature, topP, topK, minP, typicalP, repetitionPenalty, presencePenalty, frequencyPenalty };
  return { ...plainSampling, ...filters, stop, tokensMax, ...(seed !== undefined && { seed }) };
};
const ofHttp = (fields: Given): SamplingOptions =>
  chatRequest({ model: 'default', messages: [{ role: 'user', content: 'hi' }], ...fields }, gatewayOptions.parse({})).sampling;

const rows = [
  [0, -1, 3, 2],
  [40, -60, 0.001, -0.001],
  [1e30, -1e30, 1e-30, 0],
].map((row) => Float32Array.from(row));

it.each([
  ['AQL', ofAql, 'INFER_OPTION_INVALID'],
  ['HTTP', ofHttp, 'PARAMETER_BAD'],
] as const)('a number of sampling over %s is refused by name at the border, or an engine draws with it', (_, samplingOf, code) => {
  const samplingOrRefusal = (fields: Given): SamplingOptions | undefined => {
    try {
      return samplingOf(fields);
    } catch (error) {
      expect(error).toMatchObject({ code, httpStatus: 400 });
      expect(Object.keys(fields).some((name) => (error as Error).message.includes(name))).toBe(true);
      return undefined;
    }
  };
  fc.assert(
    fc.property(given, (fields) => {
      const sampling = samplingOrRefusal(fields);
      if (!sampling) return;
      checkSampling(sampling, 4);
      for (const logits of rows) {
        const token = sampleToken({ logits, sampling, seed: sampling.seed ?? 1, answer: [0, 0, 1, 2, 3], endTokens: new Set() });
        expect([0, 1, 2, 3]).toContain(token);
      }
    }),
    { numRuns: 1_000 },
  );
});

it.each([1e-40, 5e-324, 0.009, 101, 1e39])('a repetition_penalty of %d is refused over both', (penalty) => {
  expect(() => ofAql({ repetition_penalty: penalty })).toThrow('repetition_penalty');
  expect(() => ofHttp({ repetition_penalty: penalty })).toThrow('repetition_penalty');
  for (const samplingOf of [ofAql, ofHttp]) expect(() => samplingOf({ temperature: 2.01 })).toThrow('temperature');
});
