import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { QuickClock, SimEngineLauncher, simStepCost, toyDescription, toyEngineConfig } from '../../sim/engine/index.js';
import { withMethods } from '../../test/support/withMethods.js';
import {
  type EngineConfig,
  type EngineLauncher,
  type GenerateEvent,
  type GenerateRequest,
  noModel,
  plainSampling,
  platformError,
} from '../platform/index.js';
import { NodeRandom, PinoLogger, PrometheusMetrics } from '../platform/node/index.js';
import { EnginePool } from './EnginePool.js';
import { estimateConfigMemory } from './estimateConfigMemory.js';
import { type EngineOptions, engineOptions } from './options.js';
import { planMachineMemory } from './planMachineMemory.js';
import type { ServedModel } from './ServedModel.js';

const { signal } = new AbortController();
const config = toyEngineConfig({ sequences: 2, contextTokens: 1024, queueRequestsMax: 8 });
const logger = PinoLogger.open({ level: 'error', destination: '/dev/null' });
const describeModel = () => toyDescription;
const bytesOf = (engine: EngineConfig): number => estimateConfigMemory(engine, describeModel).totalBytes;
const ownBytes = bytesOf(config);

const served = (name: string, kind: 'chat' | 'embedding' = 'chat'): ServedModel => {
  const model = { name, path: name, digest: '1'.repeat(64) };
  const engine =
    kind === 'chat'
      ? { ...config, chatModel: model, embeddingModel: noModel }
      : { ...config, sequences: 1, chatModel: noModel, embeddingModel: model };
  return { name, digest: model.digest, kind, engine };
};
const chatBytes = bytesOf(served('any').engine);
const nameOf = ({ chatModel, embeddingModel }: EngineConfig): string => (chatModel.name === '' ? embeddingModel : chatModel).name;

const request = (model: string, given: Partial<GenerateRequest> = {}): GenerateRequest => ({
  requestId: `${model} ${Math.random()}`,
  model,
  messages: [{ role: 'user', content: 'question' }],
  sampling: { ...plainSampling, tokensMax: 40 },
  priority: 'normal',
  ...given,
});

const read = async (events: AsyncIterable<GenerateEvent>): Promise<string> => {
  let text = '';
  for await (const event of events) text += event.kind === 'text' ? event.text : '';
  return text;
};

/** What the machine under a pool sees: which engines run, in what order they came and went, and whether one was ended under a request. */
class Watch {
  readonly running = new Map<string, EngineConfig>();
  readonly history: string[] = [];
  readonly inFlight = new Map<string, number>();
  bytesMax = 0;
  endedInUse = 0;
  isStopping = false;

  wrap(launcher: EngineLauncher): EngineLauncher {
    return { launch: (engine, stop, onProgress) => this.#launch(launcher, { engine, stop, onProgress }) };
  }

  async #launch(
    launcher: EngineLauncher,
    given: { engine: EngineConfig; stop: AbortSignal; onProgress: Parameters<EngineLauncher['launch']>[2] },
  ) {
    const name = nameOf(given.engine);
    const gone = (): void => {
      this.running.delete(name);
      this.history.push(`-${name}`);
    };
    this.running.set(name, given.engine);
    this.history.push(`+${name}`);
    this.bytesMax = Math.max(
      this.bytesMax,
      [...this.running.values()].reduce((total, one) => total + bytesOf(one), 0),
    );
    try {
      const launched = await launcher.launch(given.engine, given.stop, given.onProgress);
      void launched.exited.then(gone);
      const modelService = withMethods(launched.modelService, { generate: (asked, stop) => this.#counted(name, launched, asked, stop) });
      const stop = (): Promise<void> => {
        if (!this.isStopping && (this.inFlight.get(name) ?? 0) > 0) this.endedInUse++;
        return launched.stop();
      };
      return { ...launched, modelService, stop };
    } catch (error) {
      gone();
      throw error;
    }
  }

  async *#counted(
    name: string,
    { modelService }: Awaited<ReturnType<EngineLauncher['launch']>>,
    asked: GenerateRequest,
    stop: AbortSignal,
  ): AsyncGenerator<GenerateEvent, void, void> {
    this.inFlight.set(name, (this.inFlight.get(name) ?? 0) + 1);
    try {
      yield* modelService.generate(asked, stop);
    } finally {
      this.inFlight.set(name, (this.inFlight.get(name) ?? 0) - 1);
    }
  }
}

describe('EnginePool (R18)', () => {
  let pool: EnginePool | undefined;
  let watch: Watch;
  afterEach(async () => {
    watch.isStopping = true;
    await pool?.stop();
    pool = undefined;
    expect([...watch.running.keys()]).toEqual([]);
  });

  const open = async (
    models: readonly ServedModel[],
    given: {
      readonly options?: Partial<EngineOptions>;
      readonly launchMs?: number;
      readonly freeBytes?: () => number;
      readonly wrap?: (launcher: EngineLauncher) => EngineLauncher;
    } = {},
  ) => {
    const clock = new QuickClock();
    const { launchMs = 900, freeBytes, wrap = (launcher) => launcher } = given;
    const script = ['default', ...models.map(({ name }) => name)].map((name) => ({
      ...(name !== 'default' && { model: name }),
      question: 'question',
      answer: `I am ${name}`,
    }));
    const launcher = new SimEngineLauncher({
      clock,
      random: new NodeRandom(),
      logger,
      script: script.reverse(),
      cost: simStepCost,
      launchMs,
    });
    watch = new Watch();
    const metrics = new PrometheusMetrics();
    const made = new EnginePool({
      launcher: watch.wrap(wrap(launcher)),
      config,
      served: models,
      memory: { read: () => freeBytes && { bytes: freeBytes(), totalBytes: 16e9, bound: 'the machine' } },
      describe: describeModel,
      options: engineOptions.parse({ ...given.options }),
      clock,
      logger,
      metrics,
    });
    pool = made;
    await made.start(signal);
    const ask = (model: string): Promise<string> => read(made.generate(request(model), signal));
    return { pool: made, clock, launcher, metrics, ask };
  };
  const ofOne = ownBytes + chatBytes;

  it('starts the engine of a model with the first request for it, answers with that model, and says what is loaded', async () => {
    const { pool, ask, metrics } = await open([served('a'), served('b')]);
    expect(watch.history).toEqual(['+toy-chat']);
    expect(await ask('a')).toBe('I am a');
    expect(await ask('default')).toBe('I am default');
    expect(watch.history).toEqual(['+toy-chat', '+a']);
    expect(pool.models().map(({ name, loaded }) => [name, loaded])).toEqual([
      ['toy-chat', undefined],
      ['toy-embedding', undefined],
      ['a', undefined],
      ['b', false],
    ]);
    const text = await metrics.render();
    expect(text).toContain('model_loaded{model="a"} 1');
    expect(text).toContain('model_loaded{model="b"} 0');
    expect(text).toContain('model_loads_total{model="a"} 1');
    expect(text).toContain('model_requests{model="a"} 0');
  });

  it('serves embedding models and cross-encoders the same way: vectors, scores and tokens by name', async () => {
    const { pool } = await open([served('vectors', 'embedding'), served('a')]);
    const [own, other] = await Promise.all(
      ['default', 'vectors'].map((model) => pool.embed({ requestId: model, model, texts: ['one two'] }, signal)),
    );
    expect(other?.vectors).toEqual(own?.vectors);
    const ranked = { requestId: 'r', model: 'vectors', query: 'one', documents: ['one', 'two'], method: 'embedding' as const };
    expect((await pool.rerank(ranked, signal)).scores[0]).toBeCloseTo(1);
    expect((await pool.tokenize('vectors', 'one', signal)).length).toBe(3);
    const tokens = await pool.tokenize('a', 'one', signal);
    expect(await pool.detokenize('a', tokens, signal)).toBe('one');
    expect(watch.history).toEqual(['+toy-chat', '+vectors', '+a']);
  });

  it('refuses what a model does not do, and an unknown one with the names there are', async () => {
    const { pool, ask } = await open([served('vectors', 'embedding'), served('a')]);
    await expect(ask('vectors')).rejects.toMatchObject({ code: 'MODEL_KIND_WRONG' });
    await expect(pool.embed({ requestId: 'e', model: 'a', texts: ['x'] }, signal)).rejects.toMatchObject({ code: 'MODEL_KIND_WRONG' });
    await expect(pool.embed({ requestId: 'e', model: 'x', texts: ['x'] }, signal)).rejects.toMatchObject({
      code: 'MODEL_UNKNOWN',
      message: expect.stringContaining('this shard serves default, toy-embedding, vectors'),
    });
    await expect(read(pool.generate(request('a', { adapter: { digest: 'd', scale: 1 } }), signal))).rejects.toMatchObject({
      code: 'ADAPTER_INVALID',
    });
    expect(watch.history).toEqual(['+toy-chat']);
  });

  it('unloads the least recently used model where the budget holds no more, and never exceeds it', async () => {
    const { ask, metrics } = await open([served('a'), served('b'), served('c')], {
      options: { memoryBudgetBytes: ofOne + chatBytes },
    });
    for (const model of ['a', 'b', 'a', 'c', 'b']) expect(await ask(model)).toBe(`I am ${model}`);
    expect(watch.history).toEqual(['+toy-chat', '+a', '+b', '-b', '+c', '-a', '+b']);
    expect(watch.bytesMax).toBeLessThanOrEqual(ofOne + chatBytes);
    expect(await metrics.render()).toContain('model_evictions_total{model="b",reason="memory"} 1');
  });

  it('goes by what is free where there is no budget, counting what starts and what ends', async () => {
    const room = (): number => chatBytes - [...watch.running.keys()].filter((name) => name !== 'toy-chat').length * chatBytes;
    const { ask } = await open([served('a'), served('b')], { freeBytes: room });
    for (const model of ['a', 'b', 'a']) expect(await ask(model)).toBe(`I am ${model}`);
    expect(watch.history).toEqual(['+toy-chat', '+a', '-a', '+b', '-b', '+a']);
    const both = await Promise.allSettled([ask('b'), ask('a')]);
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  });

  it('never unloads a model under a request: another one hears how much is needed and who holds what', async () => {
    const { pool, ask } = await open([served('a'), served('b')], { options: { memoryBudgetBytes: ofOne } });
    const events = pool.generate(request('a'), signal)[Symbol.asyncIterator]();
    await events.next();
    await expect(ask('b')).rejects.toMatchObject({
      code: 'MODEL_MEMORY_BUSY',
      httpStatus: 503,
      retryable: true,
      message: expect.stringMatching(
        /^model b needs about .* MB; the memory budget of .* has 0\.0 MB left beside the shard's own models .*; a .* in use$/,
      ),
      data: { neededBytes: chatBytes, freeBytes: 0, retryAfterSeconds: 2 },
    });
    for (let next = await events.next(); next.done !== true; next = await events.next());
    expect(await ask('b')).toBe('I am b');
    expect(watch.endedInUse).toBe(0);
  });

  it('never unloads a model that a request waits for, and one whose request gave up it may', async () => {
    const { pool, ask, clock } = await open([served('a'), served('b')], { options: { memoryBudgetBytes: ofOne }, launchMs: 3000 });
    const leaving = new AbortController();
    const waiting = read(pool.generate(request('a'), leaving.signal));
    await clock.sleep(1000);
    await expect(ask('b')).rejects.toMatchObject({ code: 'MODEL_MEMORY_BUSY' });
    leaving.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'CANCELLED' });
    expect(await ask('b')).toBe('I am b');
    expect(watch.history).toEqual(['+toy-chat', '+a', '-a', '+b']);
  });

  it('refuses what would not fit into an empty budget without unloading anything for it', async () => {
    const large = { ...served('large'), engine: { ...served('large').engine, sequences: 16 } };
    const { ask } = await open([served('a'), large], { options: { memoryBudgetBytes: ofOne } });
    await ask('a');
    await expect(ask('large')).rejects.toMatchObject({ code: 'MODEL_TOO_LARGE', httpStatus: 507, retryable: false });
    expect(watch.history).toEqual(['+toy-chat', '+a']);
  });

  it('of a machine that was divided: shards that load at one moment do not count on the same bytes, and say what was promised', async () => {
    const shards = 3;
    const own = estimateConfigMemory(config, describeModel);
    const { eachBytes, weightsBytes } = planMachineMemory({ shards, own, freeBytes: 0 });
    // Room for two more models, however many shards see it free.
    const freeBytes = weightsBytes + shards * eachBytes + 2 * chatBytes;
    const { budgetBytes: memoryBudgetBytes } = planMachineMemory({ shards, own, freeBytes });
    const options = { memoryBudgetBytes, machineShare: { shards, freeBytes, totalBytes: 16e9 } };
    const opened = [];
    for (let i = 0; i < shards; i++) opened.push({ ...(await open([served('a')], { options, freeBytes: () => freeBytes })), watch });
    const answers = await Promise.allSettled(opened.map(({ ask }) => ask('a')));
    expect(answers.map((one) => one.status === 'rejected' && one.reason)).toEqual(
      Array(shards).fill(
        expect.objectContaining({
          code: 'MODEL_TOO_LARGE',
          message: expect.stringMatching(
            /the memory budget of .* \(as promised to each of 3 shards of a machine that had .* free of 16\.0 GB/,
          ),
          data: expect.objectContaining({ neededBytes: chatBytes, promisedBytes: shards * memoryBudgetBytes, totalBytes: 16e9 }),
        }),
      ),
    );
    for (const each of opened) {
      each.watch.isStopping = true;
      await each.pool.stop();
    }
  });

  it('does not start with a budget that does not hold its own models', async () => {
    const opening = open([], { options: { memoryBudgetBytes: ownBytes - 1 } });
    await expect(opening).rejects.toMatchObject({ code: 'MODEL_TOO_LARGE', data: { neededBytes: ownBytes, budgetBytes: ownBytes - 1 } });
    expect(watch.history).toEqual([]);
  });

  it('tells those who waited long enough for a load when to come back, and goes on loading', async () => {
    const { ask, clock } = await open([served('a')], { launchMs: 20_000 });
    const startedMs = clock.monotonicMs();
    await expect(ask('a')).rejects.toMatchObject({
      code: 'MODEL_LOADING',
      httpStatus: 503,
      retryable: true,
      data: { retryAfterSeconds: 2, model: 'a' },
    });
    expect(clock.monotonicMs() - startedMs).toBe(5000);
    await clock.sleep(15_000);
    expect(await ask('a')).toBe('I am a');
    expect(watch.history).toEqual(['+toy-chat', '+a']);
  });

  it('tells all who wait why a model could not be loaded, and does not try again for each that comes', async () => {
    let isBroken = true;
    const wrap = (launcher: EngineLauncher): EngineLauncher => ({
      launch: async (engine, stop, onProgress) => {
        const launched = await launcher.launch(engine, stop, onProgress);
        if (nameOf(engine) !== 'a' || !isBroken) return launched;
        await launched.stop();
        throw platformError('MODEL_INVALID', 'model a: cut');
      },
    });
    const { ask, clock, metrics } = await open([served('a')], { wrap });
    const answers = await Promise.allSettled([ask('a'), ask('a')]);
    answers.push(...(await Promise.allSettled([ask('a')])));
    expect(answers.map((one) => one.status === 'rejected' && one.reason.code)).toEqual(Array(3).fill('MODEL_INVALID'));
    expect(watch.history).toEqual(['+toy-chat', '+a', '-a']);
    expect(await metrics.render()).toContain('model_load_failures_total{model="a",code="MODEL_INVALID"} 1');
    isBroken = false;
    await clock.sleep(5000);
    expect(await ask('a')).toBe('I am a');
  });

  it('unloads a model that nobody asked for so long, where it is told to', async () => {
    const { ask, clock } = await open([served('a')], { options: { idleUnloadMs: 60_000 } });
    await ask('a');
    await clock.sleep(59_000);
    await ask('a');
    await clock.sleep(59_000);
    expect(watch.history).toEqual(['+toy-chat', '+a']);
    await clock.sleep(2000);
    expect(watch.history).toEqual(['+toy-chat', '+a', '-a']);
    expect(await ask('a')).toBe('I am a');
  });

  it('a served engine that is killed harms its own requests alone, and these are run again', async () => {
    const { pool, launcher } = await open([served('a'), served('b')]);
    const changes: string[] = [];
    pool.onChange(({ kind }) => changes.push(kind));
    await Promise.all(['a', 'b'].map((model) => read(pool.generate(request(model), signal))));
    const messages = [{ role: 'user' as const, content: `question ${'long '.repeat(120)}` }]; // no text when it is killed
    const running = ['default', 'b', 'a'].map((model) => pool.generate(request(model, { messages }), signal)[Symbol.asyncIterator]());
    for (const events of running) await events.next();
    await launcher.crashOf('a');
    expect(await Promise.all(running.map((events) => read({ [Symbol.asyncIterator]: () => events })))).toEqual([
      'I am default',
      'I am b',
      'I am a',
    ]);
    expect(watch.history.filter((one) => one.includes('toy-chat') || one.includes('b'))).toEqual(['+toy-chat', '+b']);
    expect(changes).not.toContain('down');
  });

  it('keeps budget and requests whatever comes: many models, callers that leave, engines that end', { timeout: 60_000 }, async () => {
    const step = fc.record({
      kind: fc.constantFrom('ask' as const, 'ask' as const, 'leave' as const, 'crash' as const),
      model: fc.constantFrom('a', 'b', 'c', 'default'),
      afterMs: fc.integer({ min: 0, max: 700 }),
    });
    const expected = new Set(['answered', 'CANCELLED', 'MODEL_MEMORY_BUSY', 'MODEL_LOADING', 'ENGINE_LOST']);
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), fc.integer({ min: 1, max: 3 }), async (steps, loadedMax) => {
        const budget = ownBytes + loadedMax * chatBytes;
        const names = ['a', 'b', 'c'];
        const options = { memoryBudgetBytes: budget, idleUnloadMs: 500, readyWaitMsMax: 2000 };
        const { pool, clock, launcher } = await open(
          names.map((name) => served(name)),
          { options, launchMs: 400 },
        );
        const outcomes: Promise<string>[] = [];
        for (const { kind, model, afterMs } of steps) {
          await clock.sleep(afterMs);
          if (kind === 'crash') await launcher.crashOf(model);
          else {
            const caller = new AbortController();
            outcomes.push(
              read(pool.generate(request(model), caller.signal)).then(
                (text) => (text === `I am ${model}` ? 'answered' : text),
                (error: { readonly code: string }) => error.code,
              ),
            );
            if (kind === 'leave') void clock.sleep(300).then(() => caller.abort());
          }
        }
        const all = await Promise.all(outcomes);
        expect(all.filter((one) => !expected.has(one))).toEqual([]);
        expect([watch.endedInUse, watch.bytesMax <= budget]).toEqual([0, true]);
        await clock.sleep(5000);
        expect([...watch.running.keys()]).toEqual(['toy-chat']);
        watch.isStopping = true;
        await pool.stop();
        expect(watch.running.size).toBe(0);
      }),
      { numRuns: 40 },
    );
  });
});
