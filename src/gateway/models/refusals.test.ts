import { afterEach, describe, expect, it } from 'vitest';
import { openToyGateway } from '../../../test/support/openToyGateway.js';
import { withMethods } from '../../../test/support/withMethods.js';
import { type JsonValue, utf8 } from '../../base/index.js';
import { platformError } from '../../platform/index.js';

// What clients of the models hear that come while the engine has no room, or is not there yet; and what choices of one request cost.

type Gateway = ReturnType<typeof openToyGateway>;
type Loose = ReturnType<typeof JSON.parse>;

const messages = [{ role: 'user', content: 'what is it' }];
const surfaces: readonly { readonly path: string; readonly body: { readonly [field: string]: JsonValue } }[] = [
  { path: '/v1/chat/completions', body: { model: 'default', max_tokens: 9, messages } },
  { path: '/v1/completions', body: { model: 'default', max_tokens: 9, prompt: 'once' } },
  { path: '/v1/responses', body: { model: 'default', max_output_tokens: 9, input: 'what is it' } },
  { path: '/v1/messages', body: { model: 'default', max_tokens: 9, messages } },
];
const streamed = surfaces.flatMap(({ path, body }) => [false, true].map((stream) => ({ path, stream, body: { ...body, stream } })));

describe('a request that the engine does not take', () => {
  let gateway: Gateway | undefined;
  afterEach(async () => {
    await gateway?.engine.close(new Error('the test has ended'));
    gateway = undefined;
  });
  const open = (options: Partial<Parameters<typeof openToyGateway>[0]>) => {
    const opened = openToyGateway({ script: [{ question: 'what', answer: 'this' }], ...options });
    gateway = opened;
    return (path: string, body: JsonValue) => opened.post(path, utf8.encode(JSON.stringify(body)));
  };

  it.each(streamed)(
    'for its queue is full: $path, streamed $stream, answers 429 in its own shape and when to come back',
    async ({ path, body }) => {
      const post = open({ queueRequestsMax: 2 });
      const answers = await Promise.all(Array.from({ length: 12 }, () => post(path, body)));
      const refused = answers.filter(({ status }) => status !== 200);
      expect([answers.length - refused.length, refused.length]).toEqual([2, 10]);
      for (const { status, headers, text } of refused) {
        expect([status, headers['retry-after'], headers['content-type']]).toEqual([429, '1', 'application/json; charset=utf-8']);
        const { type, error } = JSON.parse(text) as Loose;
        expect(error).toMatchObject({ type: 'rate_limit_error', code: 'queue_full', message: expect.stringContaining('2 requests wait') });
        expect(type).toBe(path === '/v1/messages' ? 'error' : undefined);
      }
      expect((await post(path, body)).status).toBe(200);
    },
  );

  it.each(streamed)(
    'for it starts: $path, streamed $stream, answers 503 in its own shape, how far it is and when to come back',
    async ({ path, body }) => {
      const loading = platformError('ENGINE_LOADING', 'the engine of the shard is starting: chat model, 40 %', {
        data: { retryAfterSeconds: 7, phase: 'chat model', percent: 40 },
      });
      const refuse = (): never => {
        throw loading;
      };
      const post = open({ wrap: (engine) => withMethods(engine, { generate: refuse }) });
      const { status, headers, text } = await post(path, body);
      expect([status, headers['retry-after']]).toEqual([503, '7']);
      const { type, error } = JSON.parse(text) as Loose;
      expect(error).toMatchObject({ code: 'engine_loading', message: loading.message, percent: 40 });
      expect([type, error.type]).toEqual(path === '/v1/messages' ? ['error', 'overloaded_error'] : [undefined, 'server_error']);
    },
  );

  it('of several choices the prompt is computed once, counts once, and says what of it was known before (R22)', async () => {
    const post = open({});
    const content = `${'what was said before of the harbour and its office, '.repeat(6)}at last?`;
    const body = { model: 'default', max_tokens: 9, temperature: 1, n: 3, messages: [{ role: 'user', content }] };
    const usages: Loose[] = [];
    for (let time = 0; time < 2; time++) usages.push(JSON.parse((await post('/v1/chat/completions', body)).text).usage);
    expect(usages[0].prompt_tokens).toBeGreaterThan(300);
    expect(usages[0].prompt_tokens).toBeLessThan(400);
    expect(usages.map((usage) => usage.prompt_tokens_details.cached_tokens)).toEqual([0, usages[0].prompt_tokens - 64]);
    expect(gateway?.engine.figures().prefixLookups).toMatchObject({ hit: 5, unknown: 1 });
  });
});
