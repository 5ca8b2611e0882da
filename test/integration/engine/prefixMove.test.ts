import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type GenerateRequest, type PrefixExchange, plainSampling } from '../../../src/platform/index.js';
import type { AssembledEngine } from '../../../src/shard/index.js';
import { openTestEngine } from './openTestEngine.js';
import { testAdapters } from './testAdapters.js';
import { testPrompts } from './testPrompts.js';

const { passage } = testPrompts;
const { signal } = new AbortController();

async function answer(engine: AssembledEngine, asked: GenerateRequest) {
  let text = '';
  for await (const event of engine.generate(asked, signal)) {
    if (event.kind === 'text') text += event.text;
    if (event.kind === 'finished') return { text, cachedTokens: event.usage.cachedTokens };
  }
  throw new Error('no end');
}

/** Moves the longest beginning of a prompt that `from` holds. */
async function move(asked: GenerateRequest, from: PrefixExchange, to: PrefixExchange): Promise<void> {
  const digest = (await to.prefixOf(asked, signal))?.digests.at(-1) as string;
  let arrival = { receivedBytes: 0, isWhole: false };
  while (!arrival.isWhole)
    arrival = await to.writePrefix(await from.readPrefix({ digest, offset: arrival.receivedBytes, bytesMax: 1 << 20 }, signal), signal);
}

describe('rows of prompts between engines on SmolLM2-135M (R27)', () => {
  let [from, to, cold] = [undefined, undefined, undefined] as unknown as [AssembledEngine, AssembledEngine, AssembledEngine];
  beforeAll(() => {
    const bounds = { sequences: 2, contextTokens: 1024 };
    [from, to] = [openTestEngine(bounds), openTestEngine(bounds)];
    cold = openTestEngine(bounds, { prefixTokensMin: 100_000, kvStoreBytesMax: 0 });
  });
  afterAll(async () => {
    for (const engine of [from, to, cold]) await engine.close(new Error('test is over'));
  });

  it('give the text of a cold run: greedy, sampled, and with each scale of an adapter by itself', { timeout: 120_000 }, async () => {
    const [path] = testAdapters();
    const load = (engine: AssembledEngine) => Promise.all([1, 0.5].map((scale) => engine.loadAdapter({ path, scale }, signal)));
    const adapters = [undefined, ...(await load(from))];
    for (const engine of [to, cold]) await load(engine);
    for (const [place, adapter] of adapters.entries())
      for (const sampling of [
        { ...plainSampling, tokensMax: 16 },
        { ...plainSampling, tokensMax: 16, temperature: 0.9, seed: 5 },
      ]) {
        const question = `${passage.repeat(3)}Which clerk is it, number ${place} or ${sampling.temperature}?`;
        const asked = testPrompts.request(question, sampling, adapter && { adapter });
        await answer(from, asked);
        expect(((await to.prefixes.prefixOf(asked, signal))?.heldTokens as number) > 0).toBe(sampling.temperature > 0);
        await move(asked, from.prefixes, to.prefixes);
        const expected = await answer(cold, asked);
        const got = await answer(to, asked);
        expect(expected.cachedTokens).toBe(0);
        expect(got.cachedTokens).toBeGreaterThan(128);
        expect(got.text).toBe(expected.text);
      }
  });

  it('are refused by an engine of another context, which names the difference', { timeout: 60_000 }, async () => {
    const asked = testPrompts.request(`${passage.repeat(3)}Who keeps the log?`);
    await answer(from, asked);
    const digest = (await from.prefixes.prefixOf(asked, signal))?.digests.at(-1) as string;
    const part = await from.prefixes.readPrefix({ digest, offset: 0, bytesMax: 1 << 20 }, signal);
    const other = openTestEngine({ sequences: 2, contextTokens: 768 });
    expect((await other.prefixes.prefixOf(asked, signal))?.digests).not.toContain(digest);
    await expect(other.prefixes.writePrefix(part, signal)).rejects.toMatchObject({
      code: 'KV_PREFIX_MISMATCH',
      data: { field: 'contextTokens' },
    });
    await other.close(new Error('test is over'));
  });

  it('that arrive with one bit of their tokens, their length or their number changed are not taken', { timeout: 60_000 }, async () => {
    const asked = testPrompts.request(`Of another office: ${passage.repeat(3)}When is it copied?`);
    await answer(from, asked);
    const digest = (await from.prefixes.prefixOf(asked, signal))?.digests.at(-1) as string;
    const { header, bytes } = await from.prefixes.readPrefix({ digest, offset: 0, bytesMax: 1 << 30 }, signal);
    const tokens = header.tokens.slice();
    tokens[10] = (tokens[10] as number) ^ 1;
    const wrong = [
      { ...header, tokens },
      { ...header, tokens: header.tokens.slice(0, -65) },
      { ...header, stateBytes: header.tokens.length * 100_000 },
      { ...header, stateBytes: 0 },
    ];
    for (const changed of wrong)
      await expect(to.prefixes.writePrefix({ header: changed, offset: 0, bytes: new Uint8Array(0) }, signal)).rejects.toMatchObject({
        code: 'KV_PREFIX_DAMAGED',
      });
    // Rows of another form, with a header that is right: the model does not take them, and the prompt is computed.
    await to.prefixes.writePrefix({ header: { ...header, stateBytes: 1000 }, offset: 0, bytes: bytes.slice(0, 1000) }, signal);
    const [expected, got] = [await answer(cold, asked), await answer(to, asked)];
    expect(got).toEqual({ text: expected.text, cachedTokens: 0 });
    expect(to.figures().prefixLookups.refused).toBe(1);
  });
});
