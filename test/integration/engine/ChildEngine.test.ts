import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { toyDescription } from '../../../sim/engine/index.js';
import { EngineSupervisor, engineOptions, estimateEngineMemory, MemoryCheckedLauncher } from '../../../src/models/index.js';
import { modelServiceConformance } from '../../../src/platform/conformance/modelServiceConformance.js';
import {
  type EngineConfig,
  type EngineProgress,
  type GenerateEvent,
  idleLoad,
  type LaunchedEngine,
  type ModelDescription,
} from '../../../src/platform/index.js';
import { ChildEngineLauncher, NodeClock, PinoLogger, PrometheusMetrics, readModelDescription } from '../../../src/platform/node/index.js';
import { testAdapters } from './testAdapters.js';
import { testModels } from './testModels.js';
import { testPrompts } from './testPrompts.js';

const engineMainPath = 'dist/src/cli/engineMain.js';
const { signal } = new AbortController();
const clock = new NodeClock();

const { known, request: requestOf } = testPrompts;
const request = (content: string, tokensMax = 24) => requestOf(content, { tokensMax });

const textOf = async (events: AsyncIterable<GenerateEvent>): Promise<string> => {
  let text = '';
  for await (const event of events) if (event.kind === 'text') text += event.text;
  return text;
};

/** What a child without a model says when it is warm. */
const readyMessage = `{ kind: 'ready', facts: { models: [], abilities: { sameTextUnderLoad: true, adapters: true, prefixes: true } }, load: ${JSON.stringify(idleLoad(1))} }`;

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

describe('an engine in a child process (R18)', () => {
  let config: EngineConfig;
  let launcher: ChildEngineLauncher;
  let supervisor: EngineSupervisor | undefined;
  let launched: LaunchedEngine | undefined;
  beforeAll(() => {
    expect(existsSync(engineMainPath), 'the build comes before the integration tests').toBe(true);
    const { chat, embedding } = testModels();
    config = { chatModel: chat, embeddingModel: embedding, sequences: 4, contextTokens: 512, threads: 1, queueRequestsMax: 16 };
    launcher = new ChildEngineLauncher({ engineMainPath, stopMsMax: 3000, logger: PinoLogger.open({ level: 'warn', destination: 2 }) });
  });
  afterEach(async () => {
    await supervisor?.stop();
    await launched?.stop();
    supervisor = undefined;
    launched = undefined;
  });

  it.runIf(process.platform === 'linux')(
    'tells how far it is while it starts, and then holds no more than 1.15 times the memory that was estimated',
    async () => {
      const shape = { sequences: 16, contextTokens: 2048 };
      const told: EngineProgress[] = [];
      launched = await launcher.launch({ ...config, ...shape }, signal, (progress) => told.push(progress));
      expect([...new Set(told.map(({ phase }) => phase))]).toEqual(['chat model', 'embedding model', 'warm-up']);
      expect(told.filter(({ phase }) => phase === 'chat model').map(({ percent }) => percent)).toEqual(
        expect.arrayContaining([25, 50, 75, 100]),
      );
      const status = readFileSync(`/proc/${launched.pid}/status`, 'utf8');
      const residentBytes = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
      const [chat, embedding] = [config.chatModel, config.embeddingModel].map(({ path }) => readModelDescription(path));
      const { totalBytes } = estimateEngineMemory({ chat: chat as ModelDescription, embedding: embedding as ModelDescription, ...shape });
      expect(residentBytes / totalBytes).toBeLessThanOrEqual(1.15);
      expect(residentBytes / totalBytes).toBeGreaterThanOrEqual(0.8);
    },
  );

  // One child for all of these; the last of them ends it.
  describe('while one child lives', () => {
    let child: LaunchedEngine;
    beforeAll(async () => {
      child = await launcher.launch(config, signal);
    });
    afterAll(() => child.stop());

    it('answers generation, embedding and counting over the channel, with errors by code', async () => {
      const { modelService } = child;
      expect(modelService.models().map(({ kind }) => kind)).toEqual(['chat', 'embedding']);
      expect(await textOf(modelService.generate(request(known), signal))).toContain('51');
      const { vectors } = await modelService.embed({ requestId: 'e', model: 'default', texts: ['one', 'two'] }, signal);
      const ranking = { requestId: 'r', model: 'default', query: 'one', documents: ['two', 'one'], method: 'embedding' as const };
      const { scores } = await modelService.rerank(ranking, signal);
      expect(scores[1]).toBeGreaterThan(scores[0] as number);
      await expect(modelService.rerank({ ...ranking, method: 'crossEncoder' }, signal)).rejects.toMatchObject({ code: 'MODEL_KIND_WRONG' });
      expect(vectors.map(({ length }) => length)).toEqual([384, 384]);
      const tokens = await modelService.tokenize('default', 'one two three', signal);
      expect(tokens).toHaveLength(3);
      expect(await modelService.detokenize('default', tokens, signal)).toBe('one two three');
      await expect(modelService.embed({ requestId: 'e', model: 'other', texts: [] }, signal)).rejects.toMatchObject({
        code: 'MODEL_UNKNOWN',
      });
      const tooLong = { code: 'CONTEXT_LENGTH_EXCEEDED', data: { tokensMax: 24, contextTokensMax: 512 } };
      await expect(textOf(modelService.generate(request('word '.repeat(600)), signal))).rejects.toMatchObject(tooLong);
      const unknown = { ...request('hi'), adapter: { digest: 'f'.repeat(64), scale: 1 } };
      await expect(textOf(modelService.generate(unknown, signal))).rejects.toMatchObject({ code: 'ADAPTER_UNKNOWN' });
      await expect(modelService.loadAdapter({ path: config.embeddingModel.path, scale: 1 }, signal)).rejects.toMatchObject({
        code: 'ADAPTER_INVALID',
      });
    });

    it('frees the sequence of an aborted request', async () => {
      const { modelService } = child;
      const abort = new AbortController();
      const events = modelService.generate(request('Tell me a long story.', 300), abort.signal);
      for (let event = await events[Symbol.asyncIterator]().next(); event.value?.kind !== 'text'; )
        event = await events[Symbol.asyncIterator]().next();
      abort.abort();
      await expect(textOf(events)).rejects.toMatchObject({ code: 'CANCELLED' });
      await clock.sleep(400); // a step, and the next load report
      expect(modelService.load()).toMatchObject({ pendingLlmRequests: 0, sequencesBusy: 0 });
    });

    it('fails what was in flight with ENGINE_LOST when the child is killed', async () => {
      const { modelService, pid, exited } = child;
      const failing = expect(textOf(modelService.generate(request('Tell me a long story.', 300), signal))).rejects.toMatchObject({
        code: 'ENGINE_LOST',
        retryable: true,
      });
      await clock.sleep(200);
      process.kill(pid, 'SIGKILL');
      await failing;
      expect((await exited).reason).toContain('SIGKILL');
      await expect(textOf(modelService.generate(request('hi'), signal))).rejects.toMatchObject({ code: 'ENGINE_LOST' });
    });
  });

  it('refuses a model that is not what its digest says', async () => {
    const wrong = { ...config, chatModel: { ...config.chatModel, digest: '0'.repeat(64) } };
    await expect(launcher.launch(wrong, signal)).rejects.toMatchObject({ code: 'MODEL_INVALID' });
  });

  /** A child of this file without a model: what it does when it is started, and when it is called. It answers its beats while it can. */
  const scripted = ({ onStart = `process.send(${readyMessage})`, onCall }: { readonly onStart?: string; readonly onCall: string }) => {
    const path = join(mkdtempSync(join(tmpdir(), 'ostraka-engine-')), 'engine.mjs');
    const answers = { start: onStart, call: onCall, ping: `process.send({ kind: 'pong' })` };
    const cases = Object.entries(answers).map(([kind, answer]) => `if (m.kind === '${kind}') { ${answer} }`);
    writeFileSync(path, `process.on('message', (m) => { ${cases.join(' ')} });`);
    return new ChildEngineLauncher({ engineMainPath: path, stopMsMax: 1000, logger: PinoLogger.open({ level: 'error', destination: 2 }) });
  };

  // The rule that says what a request may be blamed for.
  it.each([
    ['SIGSEGV', true],
    ['SIGABRT', true],
    ['SIGKILL', false],
    ['SIGTERM', false],
  ] as const)('a child that ends with %s ended by itself: %s', async (name, byItself) => {
    launched = await scripted({ onCall: '' }).launch(config, signal);
    process.kill(launched.pid, name);
    expect(await launched.exited).toEqual({ reason: `signal ${name}`, byItself });
  });

  it.runIf(process.platform === 'linux')(
    'ends a child that holds more memory than it may, refuses the request that does it twice, and serves on',
    async () => {
      const grow = 'const held = []; setInterval(() => { if (held.length < 50) held.push(Buffer.alloc(20e6, 1)); }, 10);';
      const small = { ...toyDescription, fileBytes: 1e6, kvBytesPerToken: 1, vocabulary: 1 };
      const children = new MemoryCheckedLauncher({
        launcher: scripted({ onCall: grow }),
        memory: { read: () => undefined },
        describe: () => small,
      });
      const options = engineOptions.parse({ memoryFactorMax: 1.1, heartbeatIntervalMs: 50, restartDelayMsMin: 1 });
      const logger = PinoLogger.open({ level: 'error', destination: 2 });
      const bounded = { ...config, inference: { kvStoreBytesMax: 0 } };
      supervisor = new EngineSupervisor({ launcher: children, config: bounded, options, clock, logger, metrics: new PrometheusMetrics() });
      await supervisor.start(signal);
      const { enginePid } = supervisor;
      await expect(textOf(supervisor.generate(request('greedy'), signal))).rejects.toMatchObject({ code: 'REQUEST_QUARANTINED' });
      expect(isRunning(enginePid)).toBe(false);
      for (let waits = 0; supervisor.enginePid === 0 && waits < 50; waits++) await clock.sleep(100);
      expect(isRunning(supervisor.enginePid)).toBe(true);
    },
  );

  it('ends a child whose native call never returns, before it is warm as well as after', async () => {
    const block = 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)';
    const stuck = (when: 'warm' | 'cold') => scripted({ ...(when === 'cold' && { onStart: block }), onCall: block });
    const options = engineOptions.parse({ launchMsMax: 1500, heartbeatIntervalMs: 50, heartbeatsMissedMax: 6, requestRetriesMax: 0 });
    const parts = { config, options, clock, logger: PinoLogger.open({ level: 'error', destination: 2 }) };
    const cold = new EngineSupervisor({ ...parts, launcher: stuck('cold'), metrics: new PrometheusMetrics() });
    await expect(cold.start(signal)).rejects.toMatchObject({ code: 'ENGINE_LOST' });
    supervisor = new EngineSupervisor({ ...parts, launcher: stuck('warm'), metrics: new PrometheusMetrics() });
    await supervisor.start(signal);
    const { enginePid } = supervisor;
    await expect(supervisor.tokenize('default', 'x', signal)).rejects.toMatchObject({ code: 'ENGINE_LOST', retryable: true });
    for (let waits = 0; supervisor.enginePid === 0 && waits < 50; waits++) await clock.sleep(100);
    expect(supervisor.enginePid).not.toBe(enginePid);
    expect(isRunning(enginePid)).toBe(false);
  });

  it('ends when its shard is killed', async () => {
    const script = `
      import { ChildEngineLauncher, PinoLogger } from './dist/src/platform/node/index.js';
      const logger = PinoLogger.open({ level: 'error', destination: 2 });
      const launcher = new ChildEngineLauncher({ engineMainPath: '${engineMainPath}', stopMsMax: 1000, logger });
      const { pid } = await launcher.launch(${JSON.stringify(config)}, new AbortController().signal);
      process.stdout.write(String(pid));
      setInterval(() => undefined, 1000);`;
    const shard = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    const pid = await new Promise<number>((resolve) => {
      shard.stdout.once('data', (bytes: Buffer) => resolve(Number(bytes.toString())));
    });
    expect(isRunning(pid)).toBe(true);
    shard.kill('SIGKILL');
    for (let waits = 0; isRunning(pid) && waits < 50; waits++) await clock.sleep(100);
    expect(isRunning(pid)).toBe(false);
  });

  // One supervisor for all of these; each leaves it with a child that lives, but the last.
  describe('under its supervisor', () => {
    let service: EngineSupervisor;
    beforeAll(async () => {
      const beats = { heartbeatIntervalMs: 100, heartbeatsMissedMax: 30 };
      // It starts again and again here, and what waits for it is given time: how long it takes is each test's to say.
      const options = engineOptions.parse({ ...beats, restartDelayMsMin: 1, readyWaitMsMax: 30_000 });
      const logger = PinoLogger.open({ level: 'error', destination: 2 });
      service = new EngineSupervisor({ launcher, config, options, clock, logger, metrics: new PrometheusMetrics() });
      await service.start(signal);
    });
    afterAll(() => service.stop());

    it('is back within 5 s after kill -9, with its adapters; requests without text are retried', { timeout: 60_000 }, async () => {
      const adapter = await service.loadAdapter({ path: testAdapters()[0], scale: 1 }, signal);
      const expected = await textOf(service.generate(request(known), signal));
      const adapted = { ...request(known), adapter };
      const expectedAdapted = await textOf(service.generate(adapted, signal));
      const { enginePid } = service;
      const startedMs = clock.monotonicMs();
      const inFlight = textOf(service.generate(request(known), signal));
      process.kill(enginePid, 'SIGKILL');
      expect(await inFlight).toBe(expected);
      expect(clock.monotonicMs() - startedMs).toBeLessThan(5000);
      expect(service.enginePid).not.toBe(enginePid);
      expect(await textOf(service.generate(adapted, signal))).toBe(expectedAdapted);
    });

    it('ends a child that stands still (SIGSTOP) within its beats and starts another; what waited is sent again', async () => {
      const expected = await textOf(service.generate(request(known), signal));
      const { enginePid } = service;
      process.kill(enginePid, 'SIGSTOP');
      const startedMs = clock.monotonicMs();
      expect(await textOf(service.generate(request(known), signal))).toBe(expected);
      expect(clock.monotonicMs() - startedMs).toBeLessThan(10_000);
      expect(service.enginePid).not.toBe(enginePid);
      expect(isRunning(enginePid)).toBe(false);
    });

    it('answers its beats while it prefills as much as fits: a long prompt is no hang', async () => {
      const { enginePid } = service;
      const long = Array.from({ length: 4 }, (_, i) => request(`${i} ${'word '.repeat(420)}`, 8));
      const texts = ['one', 'two', 'three'].map((text) => `${text} `.repeat(60));
      await Promise.all([
        ...long.map((asked) => textOf(service.generate(asked, signal))),
        service.embed({ requestId: 'e', model: 'default', texts }, signal),
      ]);
      expect(service.enginePid).toBe(enginePid);
    });

    it('does not retry a request whose text has begun: ENGINE_LOST', async () => {
      const events = service.generate(request('Tell me a long story.', 300), signal);
      for await (const event of events) {
        if (event.kind !== 'text') continue;
        process.kill(service.enginePid, 'SIGKILL');
        break;
      }
      const lost = async (): Promise<void> => {
        for await (const event of service.generate(request('Tell me a long story.', 300), signal)) {
          if (event.kind === 'text' && service.enginePid !== 0) process.kill(service.enginePid, 'SIGKILL');
        }
      };
      await expect(lost()).rejects.toMatchObject({ code: 'ENGINE_LOST' });
    });

    it('ends with its supervisor', async () => {
      await textOf(service.generate(request('hi', 1), signal)); // it is back
      const { enginePid } = service;
      expect(enginePid).toBeGreaterThan(0);
      process.kill(enginePid, 'SIGINT'); // as a terminal sends to the whole group
      await clock.sleep(100);
      expect(isRunning(enginePid)).toBe(true);
      await service.stop();
      expect(isRunning(enginePid)).toBe(false);
      await expect(service.tokenize('default', 'x', signal)).rejects.toMatchObject({ retryable: true });
    });
  });
});

modelServiceConformance({
  name: 'engine child on the default model',
  open: async () => {
    const { chat, embedding } = testModels();
    const launcher = new ChildEngineLauncher({
      engineMainPath,
      stopMsMax: 3000,
      logger: PinoLogger.open({ level: 'warn', destination: 2 }),
    });
    const engine = { chatModel: chat, embeddingModel: embedding, sequences: 2, contextTokens: 512, threads: 1, queueRequestsMax: 16 };
    const { modelService, stop } = await launcher.launch(engine, signal);
    return { service: modelService, close: stop };
  },
});
