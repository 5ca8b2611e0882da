import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { measuredAdapter as announce, loadOf as load, topologyMember } from '../../test/support/topologyMember.js';
import { asId, type ShardId } from '../base/index.js';
import type { TopologyMember } from '../membership/index.js';
import { assignSlots, ConsistentHashRing } from '../sharding/index.js';
import { AdaptiveShardRouter, type RouteRequest } from './AdaptiveShardRouter.js';
import { routingOptions } from './options.js';
import { Reservations } from './Reservations.js';

const id = (number: number): ShardId => asId<ShardId>(`shard-${number}`);
const digest = 'a'.repeat(64);
const member = (number: number, changes: Partial<TopologyMember> = {}): TopologyMember => topologyMember(id(number), changes);
const router = new AdaptiveShardRouter(routingOptions.parse({}));
const ring = ConsistentHashRing.of(1, assignSlots([id(0), id(1), id(2), id(3)]));
const route = (
  members: readonly TopologyMember[],
  request: Partial<RouteRequest> = {},
  state: { readonly closed?: ShardId; readonly reserved?: (shardId: ShardId) => number } = {},
) =>
  router.route(
    { adapter: { domain: 'law' }, model: 'default', promptHash: 0n, excluded: new Set(), scoreMin: undefined, isNamed: false, ...request },
    {
      view: { epoch: 1, selfShardId: id(0), members },
      ring,
      admits: (shardId) => shardId !== state.closed,
      reserved: state.reserved ?? (() => 0),
    },
  );
const order = (plan: ReturnType<typeof route>): string[] => plan.candidates.map(({ shardId }) => shardId);

describe('routing by the name of a model (R18)', () => {
  const own = { name: 'm', digest, kind: 'chat' as const };
  const other = { name: 'other', digest: 'b'.repeat(64), kind: 'chat' as const };
  const cold = { ...other, loaded: false as const };
  const asked = { model: 'other', domain: undefined };

  it('goes to shards that serve the model, first to one that has it loaded, even a busier one', () => {
    const members = [
      member(0),
      member(1, { models: [own, cold] }),
      member(2, { models: [own, other], load: load(5) }),
      member(3, { models: [own, cold], load: load(1) }),
    ];
    expect(order(route(members, asked))).toEqual(['shard-2', 'shard-1', 'shard-3']);
    expect(order(route(members))).toContain('shard-0');
  });

  it('loads it on a further shard only once those that have it are overloaded', () => {
    const members = [member(0, { models: [own, other], load: load(128) }), member(1, { models: [own, cold], load: load(3) })];
    expect(order(route(members, asked))).toEqual(['shard-1', 'shard-0']);
  });

  it('an adapter answers for the chat model it belongs to and for no other', () => {
    const members = [member(0, { models: [own, other], announcements: [announce(0.9)] })];
    expect(route(members, { model: 'm' }).decision).toBe('domain');
    expect(route(members, { model: 'other' })).toMatchObject({ fallbackReason: 'no_capable_shard' });
    expect(route(members, { model: 'other' }).candidates[0]?.announcement).toBeUndefined();
  });
});

describe('score (E1)', () => {
  it('100 ms of latency are worth 0.01 of accuracy', () => {
    expect(router.score(announce(0.85, { performanceDeltaP99Ms: 100 }))).toBeCloseTo(0.84, 12);
    expect(router.score(announce(0.85, { performanceDeltaP99Ms: -100 }))).toBeCloseTo(0.86, 12);
  });
});

describe('routing by domain (paper §IV-A)', () => {
  it('an adapter below the tiers answers only who names it, and there is none to name on a shard without one', () => {
    const members = [member(0), member(1, { announcements: [announce(-0.2)] })];
    expect(route(members).decision).not.toBe('domain');
    const named = route(members, { isNamed: true });
    expect([named.decision, named.tier, order(named)]).toEqual(['domain', undefined, ['shard-1']]);
    expect(route([member(0)], { isNamed: true }).decision).not.toBe('domain');
  });

  it.each([
    [[0.5, 0.7, 0.9], 0.8, ['shard-2']],
    [[0.5, 0.7, 0.8], 0.6, ['shard-2', 'shard-1']],
    [[0.5, 0.41, 0.3], 0.4, ['shard-0', 'shard-1']],
  ])('gains %j are decided by tier %d', (deltas, tier, expected) => {
    const plan = route(deltas.map((delta, i) => member(i, { announcements: [announce(delta)] })));
    expect([plan.decision, plan.tier, order(plan)]).toEqual(['domain', tier, expected]);
  });

  it('a slow adapter loses to one that is a little less accurate; a close one to the less loaded', () => {
    const slow = announce(0.95, { performanceDeltaP99Ms: 1000 });
    expect(order(route([member(0, { announcements: [slow] }), member(1, { announcements: [announce(0.9)] })]))[0]).toBe('shard-1');
    const close = [member(0, { announcements: [announce(0.9)], load: load(3) }), member(1, { announcements: [announce(0.89)] })];
    expect(order(route(close))[0]).toBe('shard-1');
  });

  it('measured figures come before declared ones of any height', () => {
    const declared = member(0, { announcements: [announce(1, { source: 'declared' })] });
    expect(order(route([declared, member(1, { announcements: [announce(0.81)] })]))).toEqual(['shard-1', 'shard-0']);
  });

  it('a shard with 128 pending requests is chosen only after all others', () => {
    const busy = member(0, { announcements: [announce(0.99)], load: load(128) });
    expect(order(route([busy, member(1, { announcements: [announce(0.81)] })]))[0]).toBe('shard-1');
  });

  it('falls back with the reason, and marks a domain that nobody has', () => {
    expect(route([member(0)])).toMatchObject({ decision: 'ring', fallbackReason: 'no_capable_shard', tier: undefined });
    const dead = member(1, { health: 'dead', announcements: [announce(0.9)] });
    expect(route([member(0), dead])).toMatchObject({ fallbackReason: 'capable_shards_unavailable' });
    expect(route([member(0, { announcements: [announce(0.4)] })]).decision).not.toBe('domain');
    expect(route([member(0, { announcements: [announce(0.9)] })], { scoreMin: 0.95 }).decision).not.toBe('domain');
    expect(route([member(0)], { adapter: undefined }).fallbackReason).toBeUndefined();
  });
});

it('never chooses a shard that is dead, suspected, not ready, excluded, behind an open breaker or without the model', () => {
  const health = fc.constantFrom('alive' as const, 'suspect' as const, 'dead' as const);
  const models = fc.constantFrom<string[]>(['m'], ['other'], []);
  const facts = fc.record({
    health,
    ready: fc.boolean(),
    models,
    delta: fc.option(fc.double({ min: -1, max: 1, noNaN: true })),
    pending: fc.nat(200),
  });
  const domain = fc.constantFrom('law', undefined);
  fc.assert(
    fc.property(fc.array(facts, { maxLength: 6 }), domain, fc.nat(5), fc.nat(5), (all, asked, closed, excluded) => {
      const members = all.map((one, i) =>
        member(i, {
          health: one.health,
          ready: one.ready,
          models: one.models.map((name) => ({ name, digest, kind: 'chat' as const })),
          announcements: one.delta === null ? [] : [announce(one.delta)],
          load: load(one.pending),
        }),
      );
      const plan = route(
        members,
        { adapter: asked === undefined ? undefined : { domain: asked }, model: 'm', excluded: new Set([id(excluded)]) },
        { closed: id(closed) },
      );
      const usable = all.flatMap((one, i) =>
        one.health === 'alive' && one.ready && one.models.includes('m') && i !== closed && i !== excluded ? [id(i)] : [],
      );
      expect(order(plan).every((shardId) => usable.includes(asId<ShardId>(shardId)))).toBe(true);
      if (plan.decision !== 'domain') expect(order(plan).sort()).toEqual(usable.sort());
      else expect(plan.candidates.every(({ announcement }) => (announcement?.accuracyDelta ?? 0) > (plan.tier ?? 1))).toBe(true);
    }),
  );
});

describe('load', () => {
  it('a burst of 64 to one domain with three capable shards splits within one, by reservations alone', () => {
    const reservations = new Reservations();
    const members = [0, 1, 2, 3].map((i) => member(i, { announcements: i === 3 ? [] : [announce(0.9)] }));
    const held = Array.from({ length: 64 }, () => {
      const [first] = route(members, {}, { reserved: (shardId) => reservations.of(shardId) }).candidates;
      return reservations.take(first?.shardId as ShardId);
    });
    const shares = [0, 1, 2, 3].map((i) => reservations.of(id(i)));
    expect(shares[3]).toBe(0);
    expect(Math.max(...shares.slice(0, 3)) - Math.min(...shares.slice(0, 3))).toBeLessThanOrEqual(1);
    for (const one of [...held, ...held]) one.release();
    expect([0, 1, 2].map((i) => reservations.of(id(i)))).toEqual([0, 0, 0]);
  });

  it('without a domain a shard with rows of the prompt answers, unless it is busier by more than they are worth (R27)', () => {
    const asked = {
      adapter: undefined,
      prefixTokens: new Map([
        [id(1), 128],
        [id(2), 512],
      ]),
    };
    const chosen = (pending: readonly number[], changes = {}) => {
      const plan = route(
        pending.map((count, i) => member(i, { load: load(count) })),
        { ...asked, ...changes },
      );
      return [plan.decision, plan.candidates[0]?.shardId];
    };
    expect(chosen([0, 0, 0, 0])).toEqual(['prefix', 'shard-2']);
    expect(chosen([0, 1, 1, 0])).toEqual(['prefix', 'shard-2']);
    expect(chosen([0, 1, 2, 0])).toEqual(['prefix', 'shard-1']);
    expect(chosen([3, 5, 5, 0])).toEqual(['least_loaded', 'shard-3']);
    expect(chosen([0, 0, 0, 0], { excluded: new Set([id(1), id(2)]) })[0]).toBe('ring');
  });

  it('sends a burst with one beginning to its holder and to others alike, within two', () => {
    const reservations = new Reservations();
    const members = [0, 1, 2].map((i) => member(i));
    for (let request = 0; request < 30; request++) {
      const asked = { adapter: undefined, prefixTokens: new Map([[id(0), 512]]) };
      const [first] = route(members, asked, { reserved: (shardId) => reservations.of(shardId) }).candidates;
      reservations.take(first?.shardId as ShardId);
    }
    const shares = [0, 1, 2].map((i) => reservations.of(id(i)));
    expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(2);
  });

  it('without a domain the least loaded answers; equal loads and unknown ones go by the ring', () => {
    const owner = ring.ownerOfHash(2n ** 63n);
    const asked = { adapter: undefined, promptHash: 2n ** 63n };
    const equal = route(
      [0, 1, 2, 3].map((i) => member(i)),
      asked,
    );
    expect([equal.decision, equal.candidates[0]?.shardId]).toEqual(['ring', owner]);
    const idle = route(
      [0, 1, 2, 3].map((i) => member(i, { load: load(i === 3 ? 0 : 5) })),
      asked,
    );
    expect([idle.decision, idle.candidates[0]?.shardId]).toEqual(['least_loaded', 'shard-3']);
    const unknown = route(
      [0, 1, 2, 3].map((i) => member(i, { load: i === 1 ? undefined : load(i) })),
      asked,
    );
    expect([unknown.decision, unknown.candidates[0]?.shardId]).toEqual(['ring', owner]);
  });
});
