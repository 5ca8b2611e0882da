import { beforeEach, describe, expect, it } from 'vitest';
import { FakeModelService } from '../../test/support/FakeModelService.js';
import { ManualClock, settle } from '../../test/support/ManualClock.js';
import { CountingRandom, EventLog, silentMetrics } from '../../test/support/silentPorts.js';
import { asId, onAbort, type ShardId } from '../base/index.js';
import { GossipProtocol, membershipOptions } from '../membership/index.js';
import {
  type AdapterFiles,
  type AdapterIdentity,
  adapterKey,
  idleLoad,
  type LoadedAdapter,
  platformError,
  type SavedAdapter,
} from '../platform/index.js';
import type { RemoteExecutor } from '../rpc/index.js';
import { AdapterPublisher } from './AdapterPublisher.js';
import { AdapterService } from './AdapterService.js';
import { cooperationOptions } from './options.js';
import { ProgressRegistry } from './progress/ProgressRegistry.js';

const { signal } = new AbortController();
const shardId = asId<ShardId>('s1');
const digestOf = (path: string): string => (path === 'abc' ? path : path.replace(/\D/g, '')).padEnd(64, '0');
const figures = {
  accuracyDelta: 1,
  baseAccuracy: 0,
  adapterAccuracy: 1,
  performanceDeltaP99Ms: 0,
  trainingSamples: 1,
  federationRound: 0,
  source: 'measured' as const,
};

const nobody: AdapterIdentity = { digest: '', scale: 1 };

/** An engine with adapters only: what the service asks for, in order; `hold` keeps unloads waiting as running requests do. */
class AdapterEngine extends FakeModelService {
  readonly calls: string[] = [];
  readonly loaded = new Map<string, LoadedAdapter>();
  hold: Promise<void> | undefined;

  override async loadAdapter({ path = '', scale = 1 }: { readonly path?: string; readonly scale?: number } = {}): Promise<LoadedAdapter> {
    this.calls.push(`load ${path}`);
    const adapter = { digest: digestOf(path), modelDigest: 'f'.repeat(64), scale };
    this.loaded.set(adapterKey(adapter), adapter);
    return adapter;
  }
  override async unloadAdapter({ digest, scale }: AdapterIdentity = nobody, unloadSignal: AbortSignal = signal): Promise<void> {
    this.calls.push(`unload ${digest.replace(/0+$/, '')}${scale === 1 ? '' : `@${scale}`}`);
    const aborted = new Promise<never>((_, reject) => onAbort(unloadSignal, () => reject(unloadSignal.reason)));
    if (this.hold) await Promise.race([this.hold, aborted]);
    this.loaded.delete(adapterKey({ digest, scale }));
  }
  override adapters(): readonly LoadedAdapter[] {
    return [...this.loaded.values()];
  }
}

describe('AdapterService (R21)', () => {
  let clock: ManualClock;
  let engine: AdapterEngine;
  let gossip: GossipProtocol;
  let publisher: AdapterPublisher;
  let logger: EventLog;
  let saved: readonly SavedAdapter[];
  const files: AdapterFiles = {
    describe: async (path) => {
      if (path.startsWith('bad')) throw platformError('ADAPTER_INVALID', 'bad');
      return { path, digest: digestOf(path), figures };
    },
    readSaved: async () => saved,
    writeSaved: async (adapters) => {
      saved = adapters;
    },
  };
  let progress: ProgressRegistry;
  const open = (options: object = {}) =>
    new AdapterService({
      progress,
      publisher,
      files,
      topology: () => gossip.view(),
      clock,
      logger,
      options: cooperationOptions.parse({ adapterUnloadMsMax: 1_000, ...options }),
    });
  const adapter = (domain: string, path: string) => ({ domain, path, scale: 1 });
  const domains = () => publisher.announced().map(({ domain }) => domain);

  beforeEach(() => {
    clock = new ManualClock();
    progress = new ProgressRegistry({ shardId, clock, options: cooperationOptions.parse({}) });
    logger = new EventLog();
    saved = [];
    engine = new AdapterEngine(async function* () {});
    const random = new CountingRandom();
    gossip = new GossipProtocol({
      selfShardId: shardId,
      clock,
      random,
      logger,
      metrics: silentMetrics,
      options: membershipOptions.parse({}),
    });
    const load = idleLoad(1);
    const self = { shardId, incarnation: 1, host: 'h', rpcPort: 1, httpUrl: 'http://h' };
    gossip.start({ executor: {} as RemoteExecutor, self, own: { ready: true, models: [], announcements: [], load } });
    publisher = new AdapterPublisher({ modelService: engine, gossip, clock, logger });
  });

  it('announces once the engine has it, and withdraws before the engine frees it', async () => {
    const service = open();
    const announcement = await service.load(adapter('law', 'a1'), signal);
    expect(announcement).toMatchObject({ domain: 'law', adapterDigest: digestOf('a1'), source: 'measured', withdrawn: false });
    expect(domains()).toEqual(['law']);
    let release = (): void => undefined;
    engine.hold = new Promise((resolve) => {
      release = resolve;
    });
    const unloaded = service.unload('law', signal);
    await settle();
    expect(domains()).toEqual([]);
    expect(gossip.ownAnnouncements()).toMatchObject([{ domain: 'law', withdrawn: true }]);
    expect(engine.adapters()).toHaveLength(1);
    release();
    await unloaded;
    expect(engine.adapters()).toEqual([]);
  });

  it('reports success once every shard was told, and frees nothing before every shard was told of the withdrawal', async () => {
    const service = open();
    const told: string[] = [];
    gossip.spread = async () => {
      await settle();
      told.push(`[${domains()}] after ${engine.calls.join()}`);
      return [];
    };
    await service.load(adapter('law', 'a1'), signal);
    expect(told).toEqual(['[law] after load a1']);
    await service.unload('law', signal);
    expect(told.slice(1)).toEqual(['[] after load a1']);
    expect(engine.calls).toEqual(['load a1', 'unload 1']);
  });

  it('answers ADAPTER_IN_USE when requests hold it for too long, and lets the next change come', async () => {
    const service = open();
    await service.load(adapter('law', 'a1'), signal);
    engine.hold = new Promise(() => undefined);
    const unloaded = service.unload('law', signal);
    unloaded.catch(() => undefined);
    await settle();
    await clock.advance(1_000);
    await expect(unloaded).rejects.toMatchObject({ code: 'ADAPTER_IN_USE', retryable: true });
    await expect(service.unload('law', signal)).rejects.toMatchObject({ code: 'ADAPTER_UNKNOWN' });
    await service.load(adapter('medicine', 'a2'), signal);
    expect(domains()).toEqual(['medicine']);
  });

  it('frees a file that two domains name with the second of them', async () => {
    const service = open();
    await service.load(adapter('law', 'a1'), signal);
    await service.load(adapter('trade', 'a1'), signal);
    await service.unload('law', signal);
    expect(engine.calls.filter((call) => call.startsWith('unload'))).toEqual([]);
    await service.unload('trade', signal);
    expect(engine.calls.filter((call) => call.startsWith('unload'))).toEqual(['unload 1']);
  });

  it('serves one file under several scales, and unloads by domain, digest, beginning or scale; several are a choice', async () => {
    const service = open();
    for (const [domain, scale] of [
      ['law', 1],
      ['mild', 0.5],
      ['half', 0.5],
    ] as const)
      await service.load({ domain, path: 'abc', scale }, signal);
    const digest = digestOf('abc');
    const ambiguous = { code: 'ADAPTER_AMBIGUOUS', data: { choices: [{ domain: 'law' }, { domain: 'mild' }, { domain: 'half' }] } };
    for (const name of [digest, digest.slice(0, 12)]) await expect(service.unload(name, signal)).rejects.toMatchObject(ambiguous);
    await expect(service.unload(`${digest}@0.5`, signal)).rejects.toMatchObject({ code: 'ADAPTER_AMBIGUOUS' });
    for (const name of [digest.slice(0, 11), `${digest}@2`, 'law@2', 'nobody'])
      await expect(service.unload(name, signal)).rejects.toMatchObject({ code: 'ADAPTER_UNKNOWN' });
    expect(await service.unload(`${digest.slice(0, 12)}@1`, signal)).toEqual({ domain: 'law', digest, scale: 1 });
    expect(await service.unload('mild@0.5', signal)).toMatchObject({ domain: 'mild' });
    expect(await service.unload(digest, signal)).toMatchObject({ domain: 'half' });
    expect(engine.calls.filter((call) => call.startsWith('unload'))).toHaveLength(2);
    expect([engine.adapters(), saved]).toEqual([[], []]);
  });

  it('holds an evaluation for a measurement of the scale that was measured only', async () => {
    const service = open();
    expect(await service.load({ domain: 'law', path: 'a1', scale: 1 }, signal)).toMatchObject({ source: 'measured' });
    expect(await service.load({ domain: 'mild', path: 'a1', scale: 0.5 }, signal)).toMatchObject({ source: 'declared', accuracyDelta: 1 });
  });

  it('leaves everything as it was when the file is refused', async () => {
    const service = open();
    await service.load(adapter('law', 'a1'), signal);
    await expect(service.load(adapter('medicine', 'bad'), signal)).rejects.toMatchObject({ code: 'ADAPTER_INVALID' });
    expect(domains()).toEqual(['law']);
    expect(engine.calls).toEqual(['load a1']);
    expect(saved).toHaveLength(1);
  });

  it('runs changes one after another, and refuses more than may wait', async () => {
    const service = open({ adapterChangesQueuedMax: 2 });
    const changes = [service.load(adapter('law', 'a1'), signal), service.unload('law', signal)];
    await expect(service.load(adapter('medicine', 'a2'), signal)).rejects.toMatchObject({ code: 'ADAPTERS_BUSY' });
    await Promise.all(changes);
    expect(engine.calls).toEqual(['load a1', 'unload 1']);
    await service.load(adapter('medicine', 'a2'), signal);
  });

  it('does not begin for a client that has left', async () => {
    const gone = AbortSignal.abort(new Error('gone'));
    await expect(open().load(adapter('law', 'a1'), gone)).rejects.toThrow();
    expect(engine.calls).toEqual([]);
  });

  it('loads again after a restart what was loaded and not unloaded, and leaves out what has changed', async () => {
    const before = open();
    await before.load({ ...adapter('law', 'a1'), accuracyDelta: 0.5 }, signal);
    await before.load(adapter('medicine', 'a2'), signal);
    await before.unload('medicine', signal);
    saved = [...saved, { domain: 'trade', path: 'a3', digest: digestOf('a4'), scale: 1 }];
    publisher.withdraw('law');
    engine.calls.length = 0;
    const after = open();
    await after.restore(signal);
    expect(engine.calls).toEqual(['load a1']);
    expect(publisher.announced()).toMatchObject([{ domain: 'law', source: 'declared', accuracyDelta: 0.5 }]);
    expect(logger.events.filter(({ event }) => event === 'adapter.not_restored')).toHaveLength(1);
    await after.unload('trade', signal);
    expect(saved.map(({ domain }) => domain)).toEqual(['law']);
  });

  it('withdraws what the engine has lost', async () => {
    const service = open();
    await service.load(adapter('law', 'a1'), signal);
    await service.load(adapter('medicine', 'a2'), signal);
    engine.loaded.delete(`${digestOf('a1')}@1`);
    publisher.withdrawLost();
    expect(domains()).toEqual(['medicine']);
  });

  it('keeps its entry bounded over any number of domains', async () => {
    const service = open();
    for (let round = 1; round <= 100; round++) {
      await service.load(adapter(`d${round}`, `a${round}`), signal);
      await service.unload(`d${round}`, signal);
    }
    expect(gossip.ownAnnouncements().length).toBeLessThanOrEqual(64);
    expect(engine.adapters()).toEqual([]);
  });
});
