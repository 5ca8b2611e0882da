import { OstrakaError, type ShardId } from '../base/index.js';
import type { Clock, Logger, MetadataStore, Timer } from '../platform/index.js';
import { type GossipEntry, gossipEntry } from './GossipEntry.js';
import type { MembershipOptions } from './options.js';

const memberPrefix = 'member/';
const incarnationKey = (shardId: string): string => `incarnation/${shardId}`;

/**
 * A shard's membership in the metadata store: its incarnation (one more at every start), and its address under a lease. Through it
 * shards that never met find each other; who is alive from moment to moment is the failure detector's to say.
 */
export class ShardRegistration {
  readonly #metadata: MetadataStore;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #options: MembershipOptions;
  readonly #stopped = new AbortController();
  #leaseId: string | undefined;
  #entry: GossipEntry | undefined;
  #renewal: Timer | undefined;

  constructor(parts: {
    readonly metadata: MetadataStore;
    readonly clock: Clock;
    readonly logger: Logger;
    readonly options: MembershipOptions;
  }) {
    this.#metadata = parts.metadata;
    this.#clock = parts.clock;
    this.#logger = parts.logger;
    this.#options = parts.options;
  }

  /** The next incarnation of this shard: greater than every earlier one, so that old news of it never wins. */
  async nextIncarnation(shardId: ShardId): Promise<number> {
    const key = incarnationKey(shardId);
    const entry = await this.#metadata.read(key);
    const incarnation = Number(entry?.value ?? 0) + 1;
    const { committed } = await this.#metadata.transact({
      conditions: [{ key, revision: entry?.revision ?? 0 }],
      operations: [{ kind: 'put', key, value: String(incarnation) }],
    });
    // Only another process that runs as this shard could have come between.
    return committed ? incarnation : this.nextIncarnation(shardId);
  }

  /** Registers and keeps the lease; calls `onMembers` with all registered shards at start and after every change. */
  async start(entry: GossipEntry, onMembers: (members: readonly GossipEntry[]) => void): Promise<void> {
    this.#entry = entry;
    await this.#register();
    await this.#announceMembers(onMembers);
    void this.#follow(onMembers);
    this.#scheduleRenewal();
  }

  async stop(): Promise<void> {
    this.#renewal?.cancel();
    this.#stopped.abort(
      new OstrakaError({ code: 'CANCELLED', message: 'the shard is stopping', httpStatus: 503, errorNum: 0, retryable: true, data: {} }),
    );
    if (this.#leaseId !== undefined) await this.#metadata.revokeLease(this.#leaseId);
  }

  async #register(): Promise<void> {
    const entry = this.#entry as GossipEntry;
    const leaseId = await this.#metadata.grantLease(this.#options.leaseTtlMs);
    await this.#metadata.transact({
      conditions: [],
      operations: [{ kind: 'put', key: `${memberPrefix}${entry.shardId}`, value: JSON.stringify(entry), leaseId }],
    });
    this.#leaseId = leaseId;
  }

  #scheduleRenewal(): void {
    this.#renewal = this.#clock.setTimer(this.#options.leaseTtlMs / 3, () => void this.#renew());
  }

  async #renew(): Promise<void> {
    try {
      if (!(await this.#metadata.renewLease(this.#leaseId as string))) await this.#register();
    } catch (error) {
      this.#logger.warn('membership.lease_not_renewed', { error: error instanceof Error ? error.message : String(error) });
    }
    if (!this.#stopped.signal.aborted) this.#scheduleRenewal();
  }

  async #follow(onMembers: (members: readonly GossipEntry[]) => void): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      try {
        // The revision first: a member that comes between the list and the watch is in the watch.
        const revision = await this.#metadata.revision();
        await this.#announceMembers(onMembers);
        for await (const _ of this.#metadata.watch(memberPrefix, revision, signal)) await this.#announceMembers(onMembers);
      } catch (error) {
        if (signal.aborted) return;
        this.#logger.warn('membership.watch_lost', { error: error instanceof Error ? error.message : String(error) });
        await this.#clock.sleep(this.#options.gossipIntervalMs, signal).catch(() => undefined);
      }
    }
  }

  async #announceMembers(onMembers: (members: readonly GossipEntry[]) => void): Promise<void> {
    const entries = await this.#metadata.list(memberPrefix);
    onMembers(entries.map(({ value }) => gossipEntry.parse(JSON.parse(value))));
  }
}
