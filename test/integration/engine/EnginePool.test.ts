import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EnginePool, engineOptions, estimateConfigMemory, pinnedModels, type ServedModel } from '../../../src/models/index.js';
import {
  type EngineConfig,
  type EngineLauncher,
  type GenerateEvent,
  type GenerateRequest,
  noModel,
  plainSampling,
} from '../../../src/platform/index.js';
import { ChildEngineLauncher, NodeClock, PinoLogger, PrometheusMetrics, readModelDescription } from '../../../src/platform/node/index.js';
import { isRunning } from '../../support/isRunning.js';
import { testModels } from './testModels.js';

const engineMainPath = 'dist/src/cli/engineMain.js';
const { signal } = new AbortController();

const request = (model: string, tokensMax = 12): GenerateRequest => ({
  requestId: `${model} ${tokensMax}`,
  model,
  messages: [{ role: 'user', content: 'What is a ropeway?' }],
  sampling: { ...plainSampling, tokensMax, ignoreEnd: true },
  priority: 'normal',
});

const textOf = async (events: AsyncIterable<GenerateEvent>): Promise<string> => {
  let text = '';
  for await (const event of events) if (event.kind === 'text') text += event.text;
  return text;
};

describe('several models of a shard, each in a child process (R18)', () => {
  let pool: EnginePool;
  const pids = new Map<string, number>();
  const pidOf = (name: string): number => pids.get(name) ?? 0;

  beforeAll(async () => {
    expect(existsSync(engineMainPath), 'the build comes before the integration tests').toBe(true);
    const { chat, embedding } = testModels();
    const bounds = { sequences: 2, contextTokens: 512, threads: 1, queueRequestsMax: 16 };
    const config: EngineConfig = { chatModel: chat, embeddingModel: embedding, ...bounds };
    const twin = { ...chat, name: 'twin' };
    const vectors = { ...embedding, name: 'vectors' };
    const served: readonly ServedModel[] = [
      { name: 'twin', digest: chat.digest, kind: 'chat', engine: { ...config, chatModel: twin, embeddingModel: noModel } },
      {
        name: 'vectors',
        digest: embedding.digest,
        kind: 'embedding',
        engine: { ...config, sequences: 1, chatModel: noModel, embeddingModel: vectors },
      },
    ];
    const bytesOf = (engine: EngineConfig): number => estimateConfigMemory(engine, readModelDescription).totalBytes;
    const logger = PinoLogger.open({ level: 'error', destination: 2 });
    const children = new ChildEngineLauncher({ engineMainPath, stopMsMax: 3000, logger });
    const launcher: EngineLauncher = {
      launch: async (engine, stop, onProgress) => {
        const launched = await children.launch(engine, stop, onProgress);
        pids.set(engine.chatModel.name || engine.embeddingModel.name, launched.pid);
        return launched;
      },
    };
    pool = new EnginePool({
      launcher,
      config,
      served,
      memory: { read: () => undefined },
      describe: readModelDescription,
      // Room for the larger one of the two beside the shard's own.
      options: engineOptions.parse({
        readyWaitMsMax: 30_000,
        memoryBudgetBytes: bytesOf(config) + bytesOf((served[0] as ServedModel).engine),
      }),
      clock: new NodeClock(),
      logger,
      metrics: new PrometheusMetrics(),
    });
    await pool.start(signal);
  });
  afterAll(async () => {
    await pool.stop();
    expect([...pids.values()].filter(isRunning)).toEqual([]);
  });

  it('loads each with its first request, answers as it would alone, and unloads the one that makes room', async () => {
    expect([...pids.keys()]).toEqual(['chat']);
    const vectorsOf = async (model: string) => (await pool.embed({ requestId: model, model, texts: ['a cable car'] }, signal)).vectors[0];
    const [own, other] = [await vectorsOf('default'), await vectorsOf('vectors')];
    expect(JSON.stringify(other) === JSON.stringify(own)).toBe(true);
    expect(isRunning(pidOf('vectors'))).toBe(true);
    expect(await textOf(pool.generate(request('twin'), signal))).toBe(await textOf(pool.generate(request('default'), signal)));
    expect([isRunning(pidOf('vectors')), isRunning(pidOf('twin'))]).toEqual([false, true]);
    expect(pool.models().map(({ name, loaded = true }) => [name, loaded])).toEqual([
      ['chat', true],
      ['embedding', true],
      ['twin', true],
      ['vectors', false],
    ]);
  });

  it('what is known of the pinned models before they are fetched is what their files say', () => {
    for (const [model, pinned] of Object.values(testModels()).map((one, index) => [one, pinnedModels[index]] as const))
      expect(readModelDescription(model.path)).toMatchObject({ fileBytes: pinned?.bytes, ...pinned?.figures });
  });

  it('makes no room under a running answer, and a killed engine costs its own requests alone', async () => {
    const own = textOf(pool.generate(request('default', 40), signal));
    const events = pool.generate(request('twin', 400), signal)[Symbol.asyncIterator]();
    for (let next = await events.next(); next.value?.kind !== 'text'; next = await events.next());
    await expect(pool.tokenize('vectors', 'a cable car', signal)).rejects.toMatchObject({
      code: 'MODEL_MEMORY_BUSY',
      message: expect.stringContaining('in use'),
    });
    const killed = pidOf('twin');
    process.kill(killed, 'SIGKILL');
    await expect(textOf({ [Symbol.asyncIterator]: () => events })).rejects.toMatchObject({ code: 'ENGINE_LOST' });
    expect((await own).length).toBeGreaterThan(0);
    expect((await textOf(pool.generate(request('twin'), signal))).length).toBeGreaterThan(0);
    expect([isRunning(killed), isRunning(pool.enginePid)]).toEqual([false, true]);
    expect((await pool.tokenize('vectors', 'a cable car', signal)).length).toBeGreaterThan(2);
  });
});
