import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../test/support/ManualClock.js';
import { ScriptedTransport } from '../../test/support/ScriptedTransport.js';
import { CountingRandom, EventLog, silentMetrics } from '../../test/support/silentPorts.js';
import { measuredAdapter } from '../../test/support/topologyMember.js';
import { asId, type ShardId } from '../base/index.js';
import { idleLoad, platformError } from '../platform/index.js';
import { declareRpcMetrics, RemoteExecutor, RpcServer, rpcOptions } from '../rpc/index.js';
import { FailureDetector } from './FailureDetector.js';
import { type GossipEntry, gossipEntry } from './GossipEntry.js';
import { GossipProtocol } from './GossipProtocol.js';
import { GossipState } from './GossipState.js';
import { gossipMethods } from './gossipMethods.js';
import { membershipOptions } from './options.js';

const noLoad = idleLoad(1);
const law = measuredAdapter(0.9, { shardId: 's0', announcedAt: 1 });
const entryOf = (shardId: string, incarnation: number, version: number): GossipEntry => ({
  shardId,
  incarnation,
  version,
  host: `h${incarnation}.${version}`,
  rpcPort: 1,
  httpUrl: '',
  ready: true,
  models: [],
  announcements: [],
  load: noLoad,
});

describe('GossipState', () => {
  const entries = fc.array(
    fc.record({
      shardId: fc.constantFrom('a', 'b', 'c'),
      incarnation: fc.integer({ min: 1, max: 3 }),
      version: fc.integer({ min: 1, max: 4 }),
    }),
    { maxLength: 20 },
  );
  const stateOf = (list: readonly { shardId: string; incarnation: number; version: number }[]): GossipState => {
    const state = new GossipState();
    for (const one of list) state.merge([entryOf(one.shardId, one.incarnation, one.version)], 0);
    return state;
  };

  it('is the same whatever the order and repetition of what it heard: an older or replayed entry never wins', () => {
    fc.assert(
      fc.property(entries, entries, (heard, again) => {
        const rank = (one: { incarnation: number; version: number }): number => one.incarnation * 100 + one.version;
        const all = [...heard, ...again];
        const expected = new Map<string, number>();
        for (const one of all) expected.set(one.shardId, Math.max(rank(one), expected.get(one.shardId) ?? 0));
        for (const list of [all, [...all].reverse(), [...again, ...heard, ...heard]]) {
          const state = stateOf(list);
          expect(new Map(state.entries().map(({ entry }) => [entry.shardId, rank(entry)]))).toEqual(expected);
        }
      }),
    );
  });

  it('two states that exchange what the other lacks are equal', () => {
    fc.assert(
      fc.property(entries, entries, (left, right) => {
        const [a, b] = [stateOf(left), stateOf(right)];
        b.merge(a.newerThan(b.digest()), 1);
        a.merge(b.newerThan(a.digest()), 1);
        expect(Object.fromEntries(Object.entries(a.digest()).sort())).toEqual(Object.fromEntries(Object.entries(b.digest()).sort()));
        expect([a.newerThan(b.digest()), b.newerThan(a.digest())]).toEqual([[], []]);
      }),
    );
  });
});

describe('gossipEntry', () => {
  const entry = { ...entryOf('a', 1, 1), announcements: [law] };
  it('takes what shards send', () => {
    expect(gossipEntry.parse(JSON.parse(JSON.stringify(entry)))).toEqual(entry);
  });
  it.each([
    ['accuracyDelta', Number.NaN],
    ['accuracyDelta', 1.01],
    ['accuracyDelta', Number.POSITIVE_INFINITY],
    ['baseAccuracy', -0.1],
    ['performanceDeltaP99Ms', Number.NaN],
    ['scale', -1],
    ['adapterDigest', 'x'],
    ['source', 'guessed'],
    ['unknown', 1],
  ])('refuses an announcement with %s = %s', (field, value) => {
    expect(gossipEntry.safeParse({ ...entry, announcements: [{ ...law, [field]: value }] }).success).toBe(false);
  });
  it.each([
    ['version', 0],
    ['incarnation', 1.5],
    ['rpcPort', 70_000],
    ['load', { ...noLoad, pendingLlmRequests: -1 }],
  ])('refuses an entry with %s = %j', (field, value) => {
    expect(gossipEntry.safeParse({ ...entry, [field]: value }).success).toBe(false);
  });
});

describe('FailureDetector', () => {
  const noAnswer = (nowMs: number, refused = false) => ({ refused, nowMs });

  it('suspects after one missing answer, holds for dead after deadAfterMs of silence, and revives at a sign of life', () => {
    const detector = new FailureDetector({ deadAfterMs: 3000 });
    expect(detector.healthOf('a', 1, 0)).toBe('alive');
    detector.noAnswer('a', 1, noAnswer(1000));
    detector.noAnswer('a', 1, noAnswer(2000));
    expect([3999, 4000].map((nowMs) => detector.healthOf('a', 1, nowMs))).toEqual(['suspect', 'dead']);
    detector.signOfLife('a', 1);
    expect(detector.healthOf('a', 1, 9999)).toBe('alive');
  });

  it('a refused connection is dead at once; another incarnation is another process', () => {
    const detector = new FailureDetector({ deadAfterMs: 3000 });
    detector.noAnswer('a', 1, noAnswer(0, true));
    expect([detector.healthOf('a', 1, 0), detector.healthOf('a', 2, 0)]).toEqual(['dead', 'alive']);
    detector.noAnswer('a', 2, noAnswer(5000));
    expect(detector.healthOf('a', 2, 5000)).toBe('suspect');
    detector.noAnswer('a', 1, noAnswer(5000, true));
    expect(detector.healthOf('a', 2, 5000)).toBe('suspect');
  });
});

describe('GossipProtocol of three shards', () => {
  const options = membershipOptions.parse({});
  const ids = ['s0', 's1', 's2'].map((id) => asId<ShardId>(id)) as [ShardId, ShardId, ShardId];

  const setUp = () => {
    const clock = new ManualClock();
    const servers = new Map<ShardId, RpcServer>();
    const away = new Set<ShardId>();
    const pushes: string[] = [];
    const startNode = (selfShardId: ShardId, incarnation: number) => {
      const logger = new EventLog();
      const random = new CountingRandom(incarnation + ids.indexOf(selfShardId));
      const timestamps = { last: () => 1, observe: () => undefined };
      const gossip = new GossipProtocol({ selfShardId, clock, random, logger, metrics: silentMetrics, options });
      const rpc = { timestamps, clock, logger, metrics: declareRpcMetrics(silentMetrics) };
      const server = new RpcServer({ ...rpc, options: rpcOptions.parse({}) });
      server.register(gossipMethods(gossip));
      servers.set(selfShardId, server);
      const transport = new ScriptedTransport(async function* (call) {
        const { shardId } = call.peer;
        if (away.has(shardId) || away.has(selfShardId)) throw platformError('TRANSPORT_REFUSED', 'refused');
        pushes.push(call.method);
        yield* (servers.get(shardId) as RpcServer).handle({ ...call, peerShardId: selfShardId });
      });
      const executor = new RemoteExecutor({ ...rpc, selfShardId, transport, server, peers: gossip, random, options: rpcOptions.parse({}) });
      const own = { ready: true, models: [], announcements: [], load: noLoad };
      gossip.start({ executor, self: { shardId: selfShardId, incarnation, host: 'h', rpcPort: 1, httpUrl: '' }, own });
      return gossip;
    };
    const nodes = ids.map((id) => startNode(id, 1)) as [GossipProtocol, GossipProtocol, GossipProtocol];
    const own = (gossip: GossipProtocol, id: ShardId): GossipEntry =>
      gossip.exchange({ entries: [], digest: {} }).entries.find(({ shardId }) => shardId === id) as GossipEntry;
    // Only s0 is introduced to the others; the rest they tell each other.
    nodes[0].introduce([own(nodes[1], ids[1]), own(nodes[2], ids[2])]);
    return { clock, nodes, away, pushes, startNode };
  };
  const seenBy = (gossip: GossipProtocol, id: ShardId) => gossip.view().members.find(({ shardId }) => shardId === id);

  it('know each other after a round', async () => {
    const { clock, nodes } = setUp();
    await clock.advance(1500);
    for (const node of nodes)
      expect(node.view().members.map(({ shardId, health }) => `${shardId} ${health}`)).toEqual(['s0 alive', 's1 alive', 's2 alive']);
    await Promise.all(nodes.map((node) => node.stop()));
    expect(clock.timers).toBe(0);
  });

  it('an announcement is pushed at once, without waiting for a round; so is its withdrawal', async () => {
    const { clock, nodes, pushes } = setUp();
    await clock.advance(1500);
    pushes.length = 0;
    nodes[0].announce({ announcements: [law] });
    await clock.advance(1);
    for (const node of nodes) expect(seenBy(node, ids[0])?.announcements).toEqual([law]);
    expect(pushes).not.toContain('gossip.exchange');
    nodes[0].announce({ announcements: [{ ...law, withdrawn: true }] });
    await clock.advance(1);
    for (const node of nodes) expect(seenBy(node, ids[0])?.announcements).toEqual([]);
  });

  it('what is announced and spread is in the view of every shard that answers before the spread ends', async () => {
    const { clock, nodes, away } = setUp();
    await clock.advance(1500);
    nodes[0].announce({ announcements: [law] });
    expect(await nodes[0].spread()).toEqual([]);
    for (const node of nodes) expect(seenBy(node, ids[0])?.announcements).toEqual([law]);
    away.add(ids[2]);
    nodes[0].announce({ announcements: [{ ...law, withdrawn: true }] });
    const spread = nodes[0].spread();
    await clock.advance(2_000);
    expect(await spread).toEqual([ids[2]]);
    expect(seenBy(nodes[1], ids[0])?.announcements).toEqual([]);
  });

  it('tells every announcement that it knows, also one that is too old to go by', async () => {
    const { clock, nodes } = setUp();
    await clock.advance(1500);
    nodes[0].announce({ announcements: [law, { ...law, domain: 'art', withdrawn: true }] });
    await clock.advance(1);
    expect(nodes[1].knownAnnouncements()).toEqual([{ announcement: law, isStale: false }]);
    await Promise.all(nodes.map((node) => node.stop()));
    await clock.advance(options.announcementTtlMs + 1);
    expect(nodes[1].knownAnnouncements()).toEqual([{ announcement: law, isStale: true }]);
    expect(nodes[0].knownAnnouncements()).toEqual([{ announcement: law, isStale: false }]);
  });

  it('loads are pushed at most every loadReportIntervalMs, the newest wins, and grow old', async () => {
    const { clock, nodes, pushes } = setUp();
    await clock.advance(1500);
    pushes.length = 0;
    for (const pendingLlmRequests of [1, 2, 3]) nodes[1].reportLoad({ ...noLoad, pendingLlmRequests });
    await clock.advance(options.loadReportIntervalMs);
    expect(seenBy(nodes[0], ids[1])?.load?.pendingLlmRequests).toBe(3);
    await clock.advance(options.loadFreshMs + 2000);
    expect(seenBy(nodes[0], ids[1])?.load).toBeUndefined();
    expect(seenBy(nodes[1], ids[1])?.load?.pendingLlmRequests).toBe(3);
  });

  it('a shard that refuses is dead for the others, and alive again when it comes back as a new incarnation', async () => {
    const { clock, nodes, away, startNode } = setUp();
    await clock.advance(1500);
    nodes[2].announce({ announcements: [law] });
    await clock.advance(1);
    await nodes[2].stop();
    away.add(ids[2]);
    await clock.advance(3000);
    expect(seenBy(nodes[0], ids[2])?.health).toBe('dead');
    away.delete(ids[2]);
    const again = startNode(ids[2], 2);
    again.introduce(nodes[0].exchange({ entries: [], digest: {} }).entries);
    await clock.advance(1500);
    expect(seenBy(nodes[0], ids[2])).toMatchObject({ health: 'alive', incarnation: 2, announcements: [] });
    expect(nodes[1].find(ids[2])?.incarnation).toBe(2);
  });

  it('an answer with figures out of range is not taken', async () => {
    const { clock, nodes } = setUp();
    await clock.advance(1500);
    const exchange = nodes[1].exchange.bind(nodes[1]);
    nodes[1].exchange = (request) => ({ ...exchange(request), entries: [{ ...entryOf('s9', 1, 1), rpcPort: -1 }] });
    await clock.advance(3000);
    expect(nodes[0].find(asId<ShardId>('s9'))).toBeUndefined();
  });
});
