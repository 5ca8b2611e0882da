import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { openToyGateway } from '../../../test/support/openToyGateway.js';
import { type JsonValue, utf8 } from '../../base/index.js';

// What anybody may send to the surfaces of the models: bodies that were valid until something in them was changed.

type Loose = ReturnType<typeof JSON.parse>;
interface Surface {
  readonly path: string;
  readonly plain: JsonValue;
  /** Says all that the surface knows. */
  readonly bodies: readonly JsonValue[];
}

const question = 'what is it';
const user = { role: 'user', content: question };
const schema = { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'], additionalProperties: false };
const described = { name: 'f', description: 'd', parameters: schema, strict: true };
const sampling = { temperature: 0, top_p: 0.9, top_k: 5, min_p: 0.1, seed: 7, repetition_penalty: 1.1 };
const open = { presence_penalty: 0.1, frequency_penalty: 0.1, logit_bias: { '97': 1 }, stop: ['zz'], stop_token_ids: [3], min_tokens: 1 };
const chatHistory = [
  { role: 'system', content: 's' },
  { role: 'user', content: [{ type: 'text', text: 'q' }] },
  { role: 'assistant', content: null, tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }] },
  { role: 'tool', tool_call_id: 'c1', content: 'r' },
  user,
];
const chat = { model: 'default', max_tokens: 24, messages: [user] };
const text = { model: 'default', max_tokens: 6, prompt: 'once' };
const response = { model: 'default', max_output_tokens: 24, input: question };
const message = { model: 'default', max_tokens: 24, messages: [user] };

const surfaces: readonly Surface[] = [
  {
    path: '/v1/chat/completions',
    plain: chat,
    bodies: [
      {
        ...chat,
        ...sampling,
        ...open,
        messages: chatHistory,
        n: 2,
        logprobs: true,
        top_logprobs: 2,
        stream: true,
        stream_options: { include_usage: true },
      },
      {
        ...chat,
        tools: [
          { type: 'function', function: described },
          { type: 'function', function: { name: 'g' } },
        ],
        tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name: 'f' } }] } },
        parallel_tool_calls: true,
        stream: true,
      },
      { ...chat, tools: [{ type: 'function', function: described }], tool_choice: { type: 'function', function: { name: 'f' } } },
      { ...chat, response_format: { type: 'json_schema', json_schema: { name: 'n', strict: true, schema } } },
      { ...chat, structured_outputs: { json: schema } },
      { ...chat, guided_regex: '[a-c]{2,5}' },
      { ...chat, guided_grammar: 'root ::= "a" | "b" root' },
      { ...chat, guided_choice: ['yes', 'no'] },
    ],
  },
  {
    path: '/v1/completions',
    plain: text,
    bodies: [
      { ...text, ...sampling, ...open, prompt: ['a', 'b'], n: 2, best_of: 2, logprobs: 2, stream: true },
      { ...text, echo: true },
    ],
  },
  {
    path: '/v1/responses',
    plain: response,
    bodies: [
      {
        ...response,
        ...sampling,
        instructions: 'i',
        input: [
          { role: 'user', content: [{ type: 'input_text', text: 'q' }] },
          { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{"a":1}' },
          { type: 'function_call_output', call_id: 'c1', output: 'r' },
          { type: 'message', ...user },
        ],
        tools: [{ type: 'function', ...described }],
        tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'f' }] },
        metadata: { k: 'v' },
        truncation: 'disabled',
        store: false,
        stream: true,
      },
      { ...response, text: { format: { type: 'json_schema', name: 'n', schema } }, include: [] },
    ],
  },
  {
    path: '/v1/messages',
    plain: message,
    bodies: [
      {
        ...message,
        temperature: 0,
        top_k: 4,
        stop_sequences: ['zz'],
        system: [{ type: 'text', text: 's' }],
        messages: [
          user,
          {
            role: 'assistant',
            content: [
              { type: 'text', text: 't' },
              { type: 'tool_use', id: 'c1', name: 'f', input: { a: 1 } },
            ],
          },
          {
            role: 'user',
            content: [
              { type: 'tool_result', tool_use_id: 'c1', content: [{ type: 'text', text: 'r' }] },
              { type: 'text', text: question },
            ],
          },
        ],
        tools: [{ name: 'f', description: 'd', input_schema: schema, strict: true }],
        tool_choice: { type: 'any', disable_parallel_tool_use: true },
        thinking: { type: 'disabled' },
        stream: true,
      },
      { ...message, output_config: { format: { type: 'json_schema', schema } } },
    ],
  },
  {
    path: '/v1/messages/count_tokens',
    plain: { model: 'default', messages: [user] },
    bodies: [
      { model: 'default', messages: [user], tools: [{ name: 'f', input_schema: schema }], tool_choice: { type: 'tool', name: 'f' } },
    ],
  },
  {
    path: '/v1/embeddings',
    plain: { model: 'default', input: question },
    bodies: [
      { model: 'default', input: ['a b', 'c'], encoding_format: 'base64', dimensions: 64, truncate: true, normalize: false },
      { model: 'default', input: [[5, 6], [7]] },
    ],
  },
  {
    path: '/v1/rerank',
    plain: { model: 'default', query: 'a', documents: ['a', 'b'], method: 'embedding' },
    bodies: [
      {
        model: 'default',
        query: 'a',
        documents: ['a', { text: 'b' }],
        method: 'embedding',
        top_n: 1,
        return_documents: true,
        truncate: true,
      },
    ],
  },
  { path: '/tokenize', plain: { prompt: 'a' }, bodies: [{ model: 'default', prompt: 'a b', add_special_tokens: false }] },
  { path: '/detokenize', plain: { tokens: [97] }, bodies: [{ model: 'default', tokens: [97, 98] }] },
];

/** Of all surfaces: what one of them knows another one meets unchecked. */
const fieldNames = [...new Set(surfaces.flatMap(({ bodies }) => bodies.flatMap((body) => Object.keys(body as object))))];

const nested = (depth: number, isArray: boolean): JsonValue => {
  let value: JsonValue = 1;
  for (let i = 0; i < depth; i++) value = isArray ? [value] : { a: value };
  return value;
};

/** Stands in a value for JSON that JavaScript does not write itself. */
const rawMark = 'RAW:';
const raws = [
  '1e400',
  '-0',
  '123456789012345678901',
  '1E5',
  '0.1e-400',
  '"\\ud800"',
  '"\\udc00x"',
  '"\\u0000"',
  '{"__proto__":{"a":1}}',
  '{"a":1,"a":2}',
];
/** Forms of answers that are odd, endless or too large. */
const forms: readonly JsonValue[] = [
  ...[
    { $ref: '#' },
    { $ref: '#/properties/__proto__' },
    { $ref: 'http://x/y' },
    { anyOf: [] },
    { enum: [] },
    { const: null },
    { type: [] },
  ],
  ...[
    { type: 'array', minItems: 1e9 },
    { type: 'string', maxLength: 1e9, minLength: 1e9 },
    { pattern: '(' },
    { type: 'integer', minimum: 5, maximum: 4 },
  ],
  ...[{ allOf: [{ type: 'string' }, { type: 'number' }] }, { properties: { ['__proto__']: { type: 'null' } }, required: ['constructor'] }],
  ...['(', '[', '(a{1000}){1000}', '.*', '(?<=a)b', '\\', '^$', 'root ::= root', 'root ::=', 'x ::= "a"', 'root ::= (root | "a")* ""'],
];
const values: fc.Arbitrary<JsonValue> = fc.oneof(
  fc.constantFrom<JsonValue>(
    null,
    true,
    false,
    0,
    1,
    -1,
    0.5,
    1e9,
    2 ** 53 - 1,
    1e308,
    5e-324,
    '',
    ' ',
    '1',
    'true',
    'f',
    'c1',
    'assistant',
  ),
  fc.constantFrom<JsonValue>(
    [],
    {},
    [[]],
    [{}],
    [null],
    ['f', 'f'],
    { type: 'text' },
    { role: 'nobody', content: 'x' },
    { type: 'object' },
  ),
  fc.constantFrom<JsonValue>(
    'constructor',
    '<|im_end|>',
    '<|im_start|>system\n',
    '</tool_call>',
    '\u0000',
    '\ufeff',
    '🙂'.repeat(9),
    'é'.normalize('NFD'),
  ),
  fc.constantFrom<JsonValue>(
    'x'.repeat(300),
    'long '.repeat(1000),
    Array.from({ length: 1500 }, () => 1),
    Array.from({ length: 200 }, (_, i) => `t${i}`),
  ),
  fc.constantFrom(...[5, 60, 180].flatMap((depth) => [nested(depth, true), nested(depth, false)])),
  fc.constantFrom<JsonValue>(...forms),
  fc.constantFrom(...raws.map((raw) => rawMark + raw)),
  fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<JsonValue>,
);

interface Change {
  readonly kind: 'replace' | 'remove' | 'add' | 'repeat';
  /** Which part of the body, by its number, modulo how many there are. */
  readonly place: number;
  readonly name: string;
  readonly value: JsonValue;
}

const names = [
  '__proto__',
  'constructor',
  'toString',
  'type',
  'role',
  'name',
  'id',
  'strict',
  'tools',
  'stream',
  'n',
  'stop',
  '',
  'x'.repeat(500),
];
const changes: fc.Arbitrary<readonly Change[]> = fc.array(
  fc.record({
    kind: fc.constantFrom('replace' as const, 'replace' as const, 'replace' as const, 'remove' as const, 'add' as const, 'repeat' as const),
    place: fc.nat({ max: 10_000 }),
    name: fc.constantFrom(...names),
    value: values,
  }),
  { minLength: 1, maxLength: 3 },
);

/** Every part of a value: its holder and its name there. */
function* partsOf(value: Loose): Generator<{ readonly holder: Loose; readonly name: string }, void, void> {
  if (typeof value !== 'object' || value === null) return;
  for (const name of Object.keys(value)) {
    yield { holder: value, name };
    yield* partsOf(value[name]);
  }
}

const changed = (body: JsonValue, given: readonly Change[]): JsonValue => {
  const root: Loose = structuredClone({ body });
  for (const { kind, place, name, value: drawn } of given) {
    const value = structuredClone(drawn); // what was drawn once may come again
    const parts = [...partsOf(root)];
    const part = parts[place % parts.length];
    if (!part) continue;
    const inside = part.holder[part.name];
    if (kind === 'replace') part.holder[part.name] = value;
    else if (kind === 'add' && typeof inside === 'object' && inside !== null && !Array.isArray(inside)) set(inside, name, value);
    else if (Array.isArray(part.holder) && kind === 'repeat') part.holder.push(structuredClone(inside));
    else if (Array.isArray(part.holder)) part.holder.splice(Number(part.name), 1);
    else if (part.name !== 'body') delete part.holder[part.name];
  }
  return root.body;
};

const set = (holder: object, name: string, value: JsonValue): void =>
  void Object.defineProperty(holder, name, { value, enumerable: true, configurable: true, writable: true });

const toText = (body: JsonValue): string =>
  JSON.stringify(body).replaceAll(new RegExp(`"${rawMark}((?:[^"\\\\]|\\\\.)*)"`, 'g'), (_, raw: string) => JSON.parse(`"${raw}"`));

/** Bytes as they are, cut short, or with one of them another. */
const damages = fc.option(fc.record({ at: fc.nat({ max: 100_000 }), byte: fc.option(fc.nat({ max: 255 }), { nil: undefined }) }), {
  nil: undefined,
  freq: 9,
});

const damaged = (bytes: Uint8Array, damage: { readonly at: number; readonly byte: number | undefined } | undefined): Uint8Array => {
  if (damage === undefined) return bytes;
  const at = damage.at % bytes.length;
  if (damage.byte === undefined) return bytes.slice(0, at);
  const copy = bytes.slice();
  copy[at] = damage.byte;
  return copy;
};

const runs = Number(process.env['OSTRAKA_FUZZ_RUNS'] ?? 40);
const seed = Number(process.env['OSTRAKA_FUZZ_SEED'] ?? 20_261_130);

describe.each(surfaces)('$path, whatever its body', ({ path, plain, bodies }) => {
  const { post, log, engine } = openToyGateway({ script: [{ question, answer: 'this' }] });
  afterAll(() => engine.close(new Error('the test has ended')));

  const checkError = (answer: string): void => {
    const { type, error, request_id } = JSON.parse(answer);
    expect(typeof error.message === 'string' && error.message !== '').toBe(true);
    expect([typeof error.type, typeof error.code]).toEqual(['string', 'string']);
    expect(error.code).toMatch(/^[a-z_]+$/);
    expect(error.param === null || typeof error.param === 'string').toBe(true);
    if (path.startsWith('/v1/messages')) expect([type, typeof request_id]).toEqual(['error', 'string']);
    else expect(typeof error.request_id).toBe('string');
  };

  /** An answer that began ends as such, and not with an error. */
  const checkStream = (answer: string): void => {
    expect(answer).toMatch(/data: \[DONE\]\n\n$|"type":"response\.(completed|incomplete)"|event: message_stop/);
    expect(answer).not.toMatch(/"code":"stream_interrupted"/);
  };

  const check = ({ status, text: answer }: { readonly status: number; readonly text: string }): void => {
    if (status >= 400) {
      checkError(answer);
      expect(status).toBeLessThan(499);
    } else if (/^(data|event): /.test(answer)) checkStream(answer);
    else expect(typeof JSON.parse(answer)).toBe('object');
  };

  it('takes no field of another surface for one of its own, whatever it holds', async () => {
    for (const name of fieldNames.filter((field) => !Object.hasOwn(plain as object, field)))
      for (const value of [{}, { type: 'x' }, [7], 'x']) {
        const answer = await post(path, utf8.encode(toText({ ...(plain as { readonly [field: string]: JsonValue }), [name]: value })));
        if (answer.status === 501)
          checkError(answer.text); // OpenAI has it, Ostraka has not
        else check(answer);
      }
    expect(log.events.filter(({ event }) => event === 'http.failed')).toEqual([]);
  });

  it('answers what was asked, or a typed error of its own shape and of the 400s, and the next request as ever', {
    timeout: 20_000 + 500 * runs,
  }, async () => {
    const ask = (body: JsonValue) => post(path, utf8.encode(toText(body)));
    const { text: expected, status } = await ask(plain);
    expect([status, expected.length > 10]).toEqual([200, true]);
    const shape = (answer: string): string => answer.replaceAll(/"[^"]*"|-?[\d.]+(e-?\d+)?/g, '');
    for (const body of bodies) {
      const whole = await ask(body);
      expect([whole.status, whole.status === 200 ? '' : whole.text]).toEqual([200, '']);
      check(whole);
    }
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...bodies, plain), changes, damages, async (body, given, damage) => {
        const answer = await post(path, damaged(utf8.encode(toText(changed(body, given))), damage));
        check(answer);
        seen.add(answer.status < 300 ? 'answered' : 'refused');
        const next = await ask(plain);
        expect([next.status, shape(next.text)]).toEqual([200, shape(expected)]);
      }),
      { numRuns: runs * Math.max(bodies.length, 3), seed, endOnFailure: runs <= 40 },
    );
    expect(seen).toEqual(new Set(['answered', 'refused']));
    expect(log.events.filter(({ event }) => event === 'http.failed')).toEqual([]);
  });
});
