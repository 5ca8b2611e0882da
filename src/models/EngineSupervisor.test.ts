import { afterEach, describe, expect, it } from 'vitest';
import { QuickClock, SimEngineLauncher, simStepCost, toyEngineConfig } from '../../sim/engine/index.js';
import type { EngineLauncher, GenerateEvent, GenerateRequest } from '../platform/index.js';
import { plainSampling, platformError } from '../platform/index.js';
import { NodeRandom, PinoLogger, PrometheusMetrics } from '../platform/node/index.js';
import { type EngineChange, EngineSupervisor } from './EngineSupervisor.js';
import { engineOptions } from './options.js';

const { signal } = new AbortController();
const config = toyEngineConfig({ sequences: 2, contextTokens: 1024, queueRequestsMax: 8 });
const logger = PinoLogger.open({ level: 'error', destination: '/dev/null' });

const request = (content: string, overrides: Partial<GenerateRequest> = {}): GenerateRequest => ({
  requestId: content,
  model: 'default',
  messages: [{ role: 'user', content }],
  sampling: { ...plainSampling, tokensMax: 40 },
  priority: 'normal',
  ...overrides,
});

async function read(events: AsyncIterable<GenerateEvent>): Promise<readonly GenerateEvent[]> {
  const seen: GenerateEvent[] = [];
  for await (const event of events) seen.push(event);
  return seen;
}
const textOf = (events: readonly GenerateEvent[]): string => events.map((event) => (event.kind === 'text' ? event.text : '')).join('');

describe('EngineSupervisor (R18)', () => {
  let supervisor: EngineSupervisor | undefined;
  afterEach(async () => {
    await supervisor?.stop();
    supervisor = undefined;
  });

  const open = async (wrap: (launcher: EngineLauncher) => EngineLauncher = (launcher) => launcher) => {
    const clock = new QuickClock();
    const makeMetrics = () => new PrometheusMetrics();
    const launcher = new SimEngineLauncher({
      clock,
      random: new NodeRandom(),
      logger,
      script: [],
      cost: simStepCost,
      launchMs: 900,
    });
    const metrics = makeMetrics();
    supervisor = new EngineSupervisor({ launcher: wrap(launcher), config, options: engineOptions.parse({}), clock, logger, metrics });
    const changes: EngineChange[] = [];
    supervisor.onChange((change) => changes.push(change));
    await supervisor.start(signal);
    return { clock, launcher, metrics, changes, service: supervisor };
  };

  it('sends a request again when its engine is lost before any text, admitted once', async () => {
    const { launcher, service, changes, metrics } = await open();
    const events = service.generate(request('long '.repeat(100)), signal)[Symbol.asyncIterator]();
    const first = await events.next();
    expect(first.value).toMatchObject({ kind: 'admitted' });
    await launcher.crash();
    const rest: GenerateEvent[] = [];
    for (let next = await events.next(); next.done !== true; next = await events.next()) rest.push(next.value);
    expect(rest.some(({ kind }) => kind === 'admitted')).toBe(false);
    expect(textOf(rest)).toBe(textOf(await read(service.generate(request('long '.repeat(100)), signal))));
    expect(changes.map(({ kind }) => kind)).toEqual(['up', 'down', 'up']);
    expect(await metrics.render()).toContain('engine_restarts_total 1');
  });

  it('counts on over engines that count from nothing, however quickly the next one is up', async () => {
    const { clock, launcher, service, metrics } = await open();
    const lookups = async (): Promise<number> => {
      await clock.sleep(engineOptions.parse({}).loadPublishMs + 1);
      const counts = (await metrics.render()).matchAll(/^kv_prefix_lookups_total\{.*\} (\d+)$/gm);
      return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
    };
    for (let times = 0; times < 3; times++) await read(service.generate(request('x'), signal));
    expect(await lookups()).toBe(3);
    await launcher.crash(); // 900 ms to the next one
    await read(service.generate(request('x'), signal));
    expect(await lookups()).toBe(4);
  });

  it('while an engine loads, tells those who waited long enough how far it is and when to come back', async () => {
    let release: () => void = () => undefined;
    let launches = 0;
    const { launcher, service } = await open((inner) => ({
      launch: async (given, aborted, onProgress) => {
        if (launches++ > 0) {
          onProgress?.({ phase: 'chat model', percent: 40 });
          await new Promise<void>((resolve) => {
            release = resolve;
          });
        }
        return inner.launch(given, aborted, onProgress);
      },
    }));
    expect(service.progress).toBeUndefined();
    await launcher.crash();
    await expect(read(service.generate(request('x'), signal))).rejects.toMatchObject({
      code: 'ENGINE_LOADING',
      message: 'the engine of the shard is starting: chat model, 40 %',
      data: { retryAfterSeconds: 2, phase: 'chat model', percent: 40 },
    });
    expect(service.progress).toEqual({ phase: 'chat model', percent: 40 });
    release();
    expect(textOf(await read(service.generate(request('x'), signal)))).not.toBe('');
    expect(service.progress).toBeUndefined();
  });

  it('fails a request whose text has begun with ENGINE_LOST', async () => {
    const { launcher, service } = await open();
    const running = (async () => {
      for await (const event of service.generate(request('x'), signal)) if (event.kind === 'text') await launcher.crash();
    })();
    await expect(running).rejects.toMatchObject({ code: 'ENGINE_LOST', retryable: true });
  });

  it('is back at once after one crash and within the longest wait after many', async () => {
    const { clock, launcher, service } = await open();
    const waits: number[] = [];
    for (let crash = 0; crash < 8; crash++) {
      const crashedMs = clock.monotonicMs();
      await launcher.crash();
      while (service.enginePid === 0) await clock.sleep(10);
      waits.push(clock.monotonicMs() - crashedMs);
    }
    expect(waits[0]).toBeLessThan(1000);
    expect(waits.at(-1)).toBeGreaterThan(4000);
    expect(Math.max(...waits)).toBeLessThan(5000 + 1000);
    await clock.sleep(31_000);
    const crashedMs = clock.monotonicMs();
    await launcher.crash();
    while (service.enginePid === 0) await clock.sleep(10);
    expect(clock.monotonicMs() - crashedMs).toBeLessThan(1000);
  });

  it('kills an engine that hangs within its beats, starts it again, and sends what waited again', async () => {
    const { clock, launcher, service, changes } = await open();
    const waiting = read(service.generate(request('long '.repeat(100)), signal));
    await clock.sleep(50);
    launcher.hang();
    const hungMs = clock.monotonicMs();
    const text = textOf(await waiting);
    const { heartbeatIntervalMs, heartbeatsMissedMax } = engineOptions.parse({});
    expect(clock.monotonicMs() - hungMs).toBeLessThan((heartbeatsMissedMax + 4) * heartbeatIntervalMs);
    expect(changes.map(({ kind }) => kind)).toEqual(['up', 'down', 'up']);
    expect(text).toBe(textOf(await read(service.generate(request('long '.repeat(100)), signal))));
  });

  it('fails a request whose text has begun with ENGINE_LOST when the engine hangs', async () => {
    const { launcher, service } = await open();
    const running = (async () => {
      for await (const event of service.generate(request('x'), signal)) if (event.kind === 'text') launcher.hang();
    })();
    await expect(running).rejects.toMatchObject({ code: 'ENGINE_LOST', retryable: true });
  });

  it('leaves an engine alone that answers, however long it works', async () => {
    const { clock, service, changes } = await open();
    const work = Promise.all(Array.from({ length: 6 }, (_, i) => read(service.generate(request(`${i} ${'long '.repeat(120)}`), signal))));
    await clock.sleep(120_000);
    await work;
    expect(changes.map(({ kind }) => kind)).toEqual(['up']);
  });

  it('gives up an engine that is not warm in time', async () => {
    const late = open(() => ({
      launch: (_, launchSignal) =>
        new Promise((_resolve, reject) => launchSignal.addEventListener('abort', () => reject(launchSignal.reason), { once: true })),
    }));
    await expect(late).rejects.toMatchObject({ code: 'ENGINE_LOST', retryable: true });
  });

  it('reports a queue time that fades when nobody waits any more, also after a fault', async () => {
    const { clock, launcher, service } = await open();
    const work = Array.from({ length: 8 }, (_, i) => read(service.generate(request(`${i} ${'long '.repeat(120)}`), signal)));
    await clock.sleep(500);
    launcher.hang();
    await Promise.all(work);
    const afterMs = service.load().avgLlmQueueMs;
    expect(afterMs).toBeGreaterThan(500);
    await clock.sleep(engineOptions.parse({}).queueTimeHalfLifeMs);
    expect(service.load().avgLlmQueueMs).toBeLessThanOrEqual(afterMs / 2 + 1);
    await clock.sleep(60_000);
    expect(service.load()).toMatchObject({ avgLlmQueueMs: 0, pendingLlmRequests: 0 });
    await read(service.generate(request('x'), signal));
    expect(service.load().avgLlmQueueMs).toBeLessThan(100);
  });

  it('reloads adapters before anyone sees the new engine, and drops one that is gone', async () => {
    let refused = '';
    const { launcher, service, changes, clock } = await open((inner) => ({
      launch: async (asked, launchSignal) => {
        const launched = await inner.launch(asked, launchSignal);
        const load = launched.modelService.loadAdapter.bind(launched.modelService);
        launched.modelService.loadAdapter = (adapter, loadSignal) =>
          adapter.path === refused ? Promise.reject(platformError('ADAPTER_INVALID', 'gone')) : load(adapter, loadSignal);
        return launched;
      },
    }));
    const kept = await service.loadAdapter({ path: 'kept', scale: 1 }, signal);
    const weaker = await service.loadAdapter({ path: 'kept', scale: 0.5 }, signal);
    const lost = await service.loadAdapter({ path: 'lost', scale: 1 }, signal);
    expect(service.adapters()).toHaveLength(3);
    refused = 'lost';
    await launcher.crash();
    while (service.enginePid === 0) await clock.sleep(10);
    expect(service.adapters()).toEqual([kept, weaker]);
    expect(changes.map(({ kind }) => kind)).toEqual(['up', 'adapters', 'adapters', 'adapters', 'down', 'adapters', 'up']);
    expect(textOf(await read(service.generate(request('x', { adapter: kept }), signal)))).not.toBe('');
    await expect(read(service.generate(request('x', { adapter: lost }), signal))).rejects.toMatchObject({
      code: 'ADAPTER_UNKNOWN',
    });
    await service.unloadAdapter(kept, signal);
    await expect(service.unloadAdapter(kept, signal)).rejects.toMatchObject({ code: 'ADAPTER_UNKNOWN' });
  });

  it('does not serve after a restart what was unloaded while the next engine loaded it', async () => {
    let onLoaded = async (): Promise<void> => undefined;
    const { launcher, service, clock } = await open((inner) => ({
      launch: async (asked, launchSignal) => {
        const launched = await inner.launch(asked, launchSignal);
        const load = launched.modelService.loadAdapter.bind(launched.modelService);
        launched.modelService.loadAdapter = async (adapter, loadSignal) => {
          const loaded = await load(adapter, loadSignal);
          await onLoaded();
          return loaded;
        };
        return launched;
      },
    }));
    const adapter = await service.loadAdapter({ path: 'one', scale: 1 }, signal);
    onLoaded = () => service.unloadAdapter(adapter, signal);
    await launcher.crash();
    while (service.enginePid === 0) await clock.sleep(10);
    expect(service.adapters()).toEqual([]);
    await expect(read(service.generate(request('x', { adapter }), signal))).rejects.toMatchObject({
      code: 'ADAPTER_UNKNOWN',
    });
  });

  it('answers ENGINE_LOADING when no engine comes in time, and keeps trying', async () => {
    let launches = 0;
    const { launcher, service, clock } = await open((inner) => ({
      launch: (asked, launchSignal) => {
        launches++;
        return launches > 1 && launches < 8
          ? Promise.reject(platformError('MODEL_INVALID', 'disk gone'))
          : inner.launch(asked, launchSignal);
      },
    }));
    await launcher.crash();
    await expect(service.tokenize('default', 'x', signal)).rejects.toMatchObject({ code: 'ENGINE_LOADING', retryable: true });
    expect(service.load()).toMatchObject({ sequencesTotal: 2, sequencesBusy: 0 });
    while (service.enginePid === 0) await clock.sleep(100);
    expect(await service.tokenize('default', 'x', signal)).toEqual([120]);
  });

  it('tells the caller of start why the first engine does not come', async () => {
    const failing = open(() => ({ launch: () => Promise.reject(platformError('MODEL_INVALID', 'no file')) }));
    await expect(failing).rejects.toMatchObject({ code: 'MODEL_INVALID' });
  });

  it('stops while an engine starts, and fails later calls', async () => {
    const { launcher, service } = await open();
    await launcher.crash();
    await service.stop();
    expect(service.enginePid).toBe(0);
    await expect(service.tokenize('default', 'x', signal)).rejects.toMatchObject({ retryable: true });
  });
});
