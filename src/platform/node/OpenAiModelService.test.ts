import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openToyEngine } from '../../../sim/engine/index.js';
import { OpenAiServer } from '../../../test/support/openAiServer.js';
import { modelServiceConformance } from '../conformance/modelServiceConformance.js';
import { type GenerateEvent, type GenerateRequest, type LaunchedEngine, plainSampling, platformError } from '../index.js';
import { NodeClock } from './NodeClock.js';
import { NodeRandom } from './NodeRandom.js';
import { OpenAiEngineLauncher, type OpenAiEngineOptions } from './OpenAiEngineLauncher.js';
import { PinoLogger } from './PinoLogger.js';

const { signal } = new AbortController();
const clock = new NodeClock();
const toy = () =>
  openToyEngine({
    random: new NodeRandom(),
    logger: PinoLogger.open({ level: 'error', destination: '/dev/null' }),
    sequences: 4,
    contextTokens: 512,
    queueRequestsMax: 8,
    script: [],
  });
const launch = (url: string, config: LaunchConfig, overrides: Partial<OpenAiEngineOptions> = {}): Promise<LaunchedEngine> =>
  new OpenAiEngineLauncher({ url, apiKey: 'secret', chatModel: 'toy-chat', embeddingModel: 'toy-embedding', clock, ...overrides }).launch(
    config,
    signal,
  );
type LaunchConfig = ReturnType<typeof toy>['config'];
const closed = platformError('ENGINE_LOST', 'the test is over');

modelServiceConformance({
  name: 'engine on the toy model',
  open: async () => {
    const { engine } = toy();
    return { service: engine, close: () => engine.close(closed) };
  },
});

const openServed = async (overrides: Partial<OpenAiEngineOptions> = {}) => {
  const { engine, config } = toy();
  const server = await OpenAiServer.start(engine);
  const { modelService } = await launch(server.url, config, overrides);
  const close = async (): Promise<void> => {
    await server.stop();
    await engine.close(closed);
  };
  return { service: modelService, close };
};

modelServiceConformance({ name: 'OpenAI-compatible server over the toy model', open: () => openServed() });

modelServiceConformance({
  name: 'OpenAI-compatible server without an embedding model',
  open: () => openServed({ embeddingModel: undefined }),
});

describe('a model server behind a shard (R18)', () => {
  let parts: ReturnType<typeof toy>;
  let server: OpenAiServer;
  beforeEach(async () => {
    parts = toy();
    server = await OpenAiServer.start(parts.engine);
  });
  afterEach(async () => {
    await server.stop();
    await parts.engine.close(closed);
  });
  const request = (overrides: Partial<GenerateRequest> = {}): GenerateRequest => ({
    requestId: 'r',
    model: 'default',
    messages: [{ role: 'user', content: 'x' }],
    sampling: { ...plainSampling, tokensMax: 8 },
    priority: 'normal',
    ...overrides,
  });
  const read = async (engine: LaunchedEngine, overrides: Partial<GenerateRequest> = {}): Promise<readonly GenerateEvent[]> => {
    const seen: GenerateEvent[] = [];
    for await (const event of engine.modelService.generate(request(overrides), signal)) seen.push(event);
    return seen;
  };

  it('sends its key with every request, and declares what a server cannot promise', async () => {
    const engine = await launch(server.url, parts.config);
    await read(engine);
    expect(new Set(server.keys)).toEqual(new Set(['Bearer secret']));
    expect(engine.modelService.abilities).toEqual({ sameTextUnderLoad: false, adapters: false, prefixes: false });
    expect(engine.modelService.load()).toMatchObject({ pendingLlmRequests: 0, sequencesBusy: 0 });
  });

  it.each<[number, object, string, boolean]>([
    [429, { message: 'busy' }, 'QUEUE_FULL', true],
    [503, { message: 'loading model' }, 'ENGINE_LOADING', true],
    [
      400,
      { message: "This model's maximum context length is 512 tokens", code: 'context_length_exceeded' },
      'CONTEXT_LENGTH_EXCEEDED',
      false,
    ],
    [400, { message: 'the request exceeds the available context size' }, 'CONTEXT_LENGTH_EXCEEDED', false],
    [400, { message: 'bad temperature' }, 'ENGINE_REQUEST_REFUSED', false],
    [401, { message: 'no' }, 'ENGINE_KEY_REFUSED', false],
    [404, { message: 'The model `x` does not exist', code: 'model_not_found' }, 'MODEL_UNKNOWN', false],
    [404, { message: 'Not Found' }, 'ENGINE_ABILITY_MISSING', false],
    [500, { message: 'out of memory' }, 'ENGINE_STEP_FAILED', true],
  ])('an answer of %i %j is %s', async (status, error, code, retryable) => {
    const engine = await launch(server.url, parts.config);
    server.script = (_, response) => {
      response.writeHead(status, { 'retry-after': '7' }).end(JSON.stringify({ error }));
      return true;
    };
    const data = [429, 503].includes(status) ? { retryAfterSeconds: 7 } : {};
    await expect(read(engine)).rejects.toMatchObject({ code, retryable, data, message: expect.stringContaining(String(status)) });
  });

  it.each<[string, string, string]>([
    ['ends in the middle', 'data: {"choices":[{"delta":{"content":"a"}}]}\n\n', 'ENGINE_LOST'],
    ['is no JSON', 'data: {"choices":\n\n', 'ENGINE_STEP_FAILED'],
    ['tells an error', 'data: {"error":{"message":"CUDA"}}\n\n', 'ENGINE_STEP_FAILED'],
  ])('a stream that %s fails the request', async (_, text, code) => {
    const engine = await launch(server.url, parts.config);
    server.script = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(text);
      return true;
    };
    await expect(read(engine)).rejects.toMatchObject({ code });
  });

  it('takes a stream in any pieces, with comments as progress', async () => {
    const engine = await launch(server.url, parts.config);
    const text =
      ': ping\r\n\r\ndata: {"choices":[{"delta":{"content":"grün"}}]}\r\n\r\ndata: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n';
    server.script = (_, response) => {
      response.writeHead(200);
      const bytes = Buffer.from(text);
      const write = (at: number): void => {
        if (at >= bytes.length) response.end('data: [DONE]\n\n');
        else response.write(bytes.subarray(at, at + 3), () => setImmediate(write, at + 3));
      };
      write(0);
      return true;
    };
    expect((await read(engine)).map((event) => (event.kind === 'text' ? event.text : event.kind))).toEqual([
      'admitted',
      'progress',
      'grün',
      'finished',
    ]);
  });

  it('a deadline ends a request that the server does not answer', async () => {
    const engine = await launch(server.url, parts.config);
    server.script = () => true;
    await expect(read(engine, { deadlineMs: 30 })).rejects.toMatchObject({ code: 'DEADLINE_UNREACHABLE' });
    await expect(read(engine, { deadlineMs: 0 })).rejects.toMatchObject({ code: 'DEADLINE_UNREACHABLE' });
  });

  it('a server that is gone is a lost engine, which its exit tells; one that is not there is none', async () => {
    const engine = await launch(server.url, parts.config);
    await engine.ping();
    await server.stop();
    await expect(read(engine)).rejects.toMatchObject({ code: 'ENGINE_LOST', retryable: true });
    expect(await engine.exited).toMatchObject({ byItself: false, reason: expect.stringContaining('cannot be reached') });
    await expect(launch(server.url, parts.config)).rejects.toMatchObject({ code: 'ENGINE_LOST' });
    server = await OpenAiServer.start(parts.engine);
  });

  it('a server without the model is refused with the names it has', async () => {
    await expect(launch(server.url, parts.config, { chatModel: 'gpt' })).rejects.toMatchObject({
      code: 'MODEL_UNKNOWN',
      message: expect.stringContaining('toy-chat'),
    });
  });

  it('what a server is not asked for is refused, not left out', async () => {
    const engine = await launch(server.url, parts.config);
    const sampling = { ...plainSampling, tokensMax: 8 };
    for (const more of [{ logprobsTop: 1 }, { constraint: { kind: 'choice', texts: ['a'] } as const }])
      await expect(read(engine, { sampling: { ...sampling, ...more } })).rejects.toMatchObject({ code: 'ENGINE_ABILITY_MISSING' });
  });
});
