import { asId, assert, type JsonValue, OstrakaError, type ShardId } from '../base/index.js';
import type { Clock, LoadReport, Logger, Metrics, Random, Timer } from '../platform/index.js';
import type { Peer, PeerDirectory, RemoteExecutor } from '../rpc/index.js';
import type { AdapterCapabilityAnnouncement } from './AdapterCapabilityAnnouncement.js';
import { FailureDetector } from './FailureDetector.js';
import { type GossipDigest, type GossipEntry, gossipAnswer } from './GossipEntry.js';
import { GossipState } from './GossipState.js';
import type { MembershipOptions } from './options.js';
import type { TopologyMember, TopologyView } from './TopologyView.js';

/** An announcement, and whether its shard was heard of too long ago. */
export interface KnownAnnouncement {
  readonly announcement: AdapterCapabilityAnnouncement;
  readonly isStale: boolean;
}

type OwnState = Pick<GossipEntry, 'ready' | 'models' | 'announcements' | 'load'>;

/**
 * Spreads what shards say of themselves: eager push on first sight plus a push-pull round every second with `gossipFanout` peers
 * (CLUSTER figures: all of 16 shards know within 0.5 s). Keeps the TopologyView and the addresses for RPC.
 */
export class GossipProtocol implements PeerDirectory {
  readonly #self: ShardId;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #logger: Logger;
  readonly #options: MembershipOptions;
  readonly #state = new GossipState();
  readonly #detector: FailureDetector;
  readonly #fallbacks;
  readonly #stopped = new AbortController();
  #executor: RemoteExecutor | undefined;
  #view: TopologyView;
  #round: Timer | undefined;
  #loadPush: Timer | undefined;
  #rounds: Promise<void> = Promise.resolve();

  constructor(parts: {
    readonly selfShardId: ShardId;
    readonly clock: Clock;
    readonly random: Random;
    readonly logger: Logger;
    readonly metrics: Metrics;
    readonly options: MembershipOptions;
  }) {
    this.#self = parts.selfShardId;
    this.#clock = parts.clock;
    this.#random = parts.random;
    this.#logger = parts.logger;
    this.#options = parts.options;
    this.#detector = new FailureDetector({ deadAfterMs: parts.options.deadAfterMs });
    this.#fallbacks = parts.metrics.counter({
      name: 'gossip_failures_total',
      help: 'gossip exchanges without an answer, by peer',
      labels: ['shard'],
    });
    this.#view = { epoch: 0, selfShardId: parts.selfShardId, members: [] };
  }

  /** `self` has the address and the incarnation that the metadata store granted. */
  start(request: {
    readonly executor: RemoteExecutor;
    readonly self: Omit<GossipEntry, 'version' | keyof OwnState>;
    readonly own: OwnState;
  }): void {
    this.#executor = request.executor;
    this.#state.merge([{ ...request.self, version: 1, ...request.own }], this.#clock.monotonicMs());
    this.#rebuild();
    this.#scheduleRound();
  }

  async stop(): Promise<void> {
    this.#round?.cancel();
    this.#loadPush?.cancel();
    this.#stopped.abort(
      new OstrakaError({ code: 'CANCELLED', message: 'the shard is stopping', httpStatus: 503, errorNum: 0, retryable: true, data: {} }),
    );
    await this.#rounds;
  }

  view(): TopologyView {
    return this.#view;
  }

  find(shardId: ShardId): Peer | undefined {
    const entry = this.#state.get(shardId)?.entry;
    return entry && { address: { host: entry.host, port: entry.rpcPort }, incarnation: entry.incarnation };
  }

  /** Makes a new version of the own entry and pushes it at once. */
  announce(change: Partial<Omit<OwnState, 'load'>>): void {
    this.#change(change);
    this.#push(
      this.#state
        .entries()
        .filter(({ entry }) => entry.shardId === this.#self)
        .map(({ entry }) => entry),
    );
  }

  /**
   * Brings the own entry to every shard that is not known to be away and waits for their answers: what was announced before stands in the
   * view of each that answered within `gossipTimeoutMs`. Gives those that did not; they hear of it by the rounds.
   */
  async spread(): Promise<readonly ShardId[]> {
    const entries = [this.#own()];
    const others = this.#view.members.filter(({ shardId, health }) => shardId !== this.#self && health !== 'dead');
    const missed = await Promise.all(
      others.map(({ shardId }) =>
        this.#call(shardId, 'gossip.push', { entries }).then(
          () => undefined,
          () => shardId,
        ),
      ),
    );
    return missed.filter((shardId) => shardId !== undefined);
  }

  /** The own load; pushed at most every `loadReportIntervalMs`, the newest wins. */
  reportLoad(load: LoadReport): void {
    this.#change({ load: { ...load, activeLoraAdapters: [...load.activeLoraAdapters] } });
    this.#loadPush ??= this.#clock.setTimer(this.#options.loadReportIntervalMs, () => {
      this.#loadPush = undefined;
      this.#push([this.#own()]);
    });
  }

  ownAnnouncements(): readonly AdapterCapabilityAnnouncement[] {
    return this.#own().announcements;
  }

  /** What all shards announce and have not withdrawn, as far as it is known here, also where it is too old to go by. */
  knownAnnouncements(): readonly KnownAnnouncement[] {
    const nowMs = this.#clock.monotonicMs();
    const entries = [...this.#state.entries()].sort((left, right) => (left.entry.shardId < right.entry.shardId ? -1 : 1));
    return entries.flatMap(({ entry, seenAtMs }) => {
      const isStale = this.#ageMs(entry, seenAtMs, nowMs) > this.#options.announcementTtlMs;
      return entry.announcements.filter(({ withdrawn }) => !withdrawn).map((announcement) => ({ announcement, isStale }));
    });
  }

  /** Addresses from the metadata store: how shards that never met find each other. */
  introduce(entries: readonly GossipEntry[]): void {
    this.#receive(entries.filter((entry) => entry.shardId !== this.#self));
  }

  /** A call outside gossip found the peer gone: routing should not wait for the next round. */
  reportUnreachable(shardId: ShardId, refused: boolean): void {
    const incarnation = this.#state.get(shardId)?.entry.incarnation ?? 0;
    this.#detector.noAnswer(shardId, incarnation, { refused, nowMs: this.#clock.monotonicMs() });
    this.#rebuild();
  }

  /** RPC: a peer's half of a push-pull round. */
  exchange(request: { readonly entries: readonly GossipEntry[]; readonly digest: GossipDigest }): {
    readonly entries: GossipEntry[];
    readonly digest: GossipDigest;
  } {
    this.#receive(request.entries);
    return { entries: this.#state.newerThan(request.digest), digest: this.#state.digest() };
  }

  /** RPC: entries pushed by a peer. */
  accept(entries: readonly GossipEntry[]): void {
    this.#receive(entries);
  }

  #own(): GossipEntry {
    const own = this.#state.get(this.#self)?.entry;
    assert(own, 'gossip has started');
    return own;
  }

  #change(change: Partial<OwnState>): void {
    const own = this.#own();
    this.#state.merge([{ ...own, ...change, version: own.version + 1 }], this.#clock.monotonicMs());
    this.#rebuild();
  }

  /** About itself a shard knows best: an echo of an earlier life is ignored, since (incarnation, version) is lower. */
  #receive(entries: readonly GossipEntry[]): void {
    const fresh = this.#state.merge(
      entries.filter(({ shardId }) => shardId !== this.#self),
      this.#clock.monotonicMs(),
    );
    if (fresh.length === 0) return;
    for (const { shardId, incarnation } of fresh) {
      if (this.#detector.healthOf(shardId, incarnation, this.#clock.monotonicMs()) === 'alive') continue;
      this.#logger.debug('gossip.heard_of_suspect', { shard: shardId });
    }
    this.#rebuild();
    this.#push(fresh);
  }

  #scheduleRound(): void {
    // Jitter keeps shards that started together from meeting in lock-step.
    const delayMs = this.#options.gossipIntervalMs * (0.8 + 0.4 * this.#random.next());
    this.#round = this.#clock.setTimer(delayMs, () => {
      this.#rounds = this.#runRound();
    });
  }

  async #runRound(): Promise<void> {
    await Promise.all(this.#peersToAsk().map((shardId) => this.#exchangeWith(shardId)));
    if (this.#stopped.signal.aborted) return;
    this.#rebuild();
    this.#scheduleRound();
  }

  #peersToAsk(): ShardId[] {
    const others = this.#state
      .entries()
      .map(({ entry }) => asId<ShardId>(entry.shardId))
      .filter((id) => id !== this.#self);
    return pick(others, this.#options.gossipFanout, this.#random);
  }

  async #exchangeWith(shardId: ShardId): Promise<void> {
    const incarnation = this.#state.get(shardId)?.entry.incarnation ?? 0;
    try {
      const asked = { entries: [this.#own()], digest: this.#state.digest() };
      const answer = gossipAnswer.parse(await this.#call(shardId, 'gossip.exchange', asked));
      this.#detector.signOfLife(shardId, this.#state.get(shardId)?.entry.incarnation ?? incarnation);
      this.#receive(answer.entries);
      const missing = this.#state.newerThan(answer.digest);
      if (missing.length > 0) await this.#call(shardId, 'gossip.push', { entries: missing });
    } catch (error) {
      this.#noAnswer(shardId, incarnation, error);
    }
  }

  #noAnswer(shardId: ShardId, incarnation: number, error: unknown): void {
    if (this.#stopped.signal.aborted) return;
    const refused = error instanceof OstrakaError && error.data['mayHaveRun'] === false;
    this.#fallbacks.add(1, { shard: shardId });
    this.#detector.noAnswer(shardId, incarnation, { refused, nowMs: this.#clock.monotonicMs() });
    this.#logger.debug('gossip.no_answer', { shard: shardId, refused });
  }

  #push(entries: readonly GossipEntry[]): void {
    if (!this.#executor) return; // the port is open a moment before gossip starts; the next round repairs it
    for (const shardId of this.#peersToAsk()) {
      this.#call(shardId, 'gossip.push', { entries: [...entries] }).catch(() => undefined); // the next round repairs what a push lost
    }
  }

  #call(shardId: ShardId, method: string, body: object): Promise<JsonValue> {
    assert(this.#executor, 'gossip has started');
    const deadlineMs = this.#options.gossipTimeoutMs;
    return this.#executor.call({ shardId, method, body: body as JsonValue, signal: this.#stopped.signal, deadlineMs, idempotent: false });
  }

  #rebuild(): void {
    const nowMs = this.#clock.monotonicMs();
    const members = this.#state.entries().map(({ entry, seenAtMs }) => this.#member(entry, seenAtMs, nowMs));
    members.sort((left, right) => (left.shardId < right.shardId ? -1 : 1));
    this.#view = { epoch: this.#view.epoch + 1, selfShardId: this.#self, members };
  }

  /** Of what a shard said last; what this one says of itself does not age. */
  #ageMs(entry: GossipEntry, seenAtMs: number, nowMs: number): number {
    return entry.shardId === this.#self ? 0 : nowMs - seenAtMs;
  }

  #member(entry: GossipEntry, seenAtMs: number, nowMs: number): TopologyMember {
    const ageMs = this.#ageMs(entry, seenAtMs, nowMs);
    return {
      shardId: asId<ShardId>(entry.shardId),
      incarnation: entry.incarnation,
      address: { host: entry.host, port: entry.rpcPort },
      httpUrl: entry.httpUrl,
      health: entry.shardId === this.#self ? 'alive' : this.#detector.healthOf(entry.shardId, entry.incarnation, nowMs),
      ready: entry.ready,
      models: entry.models,
      announcements: ageMs > this.#options.announcementTtlMs ? [] : entry.announcements.filter(({ withdrawn }) => !withdrawn),
      load: ageMs > this.#options.loadFreshMs ? undefined : entry.load,
    };
  }
}

const pick = <Item>(items: readonly Item[], count: number, random: Random): Item[] => {
  const pool = [...items];
  const picked: Item[] = [];
  while (pool.length > 0 && picked.length < count) picked.push(...pool.splice(Math.floor(random.next() * pool.length), 1));
  return picked;
};
