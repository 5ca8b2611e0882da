import { assert, type ShardId } from '../base/index.js';
import type { Logger, MetadataStore } from '../platform/index.js';
import { assignSlots } from './assignSlots.js';
import { ConsistentHashRing, type RingJson } from './ConsistentHashRing.js';
import { shardingError } from './errors.js';

const ringKey = 'ring';

/**
 * Keeps this shard's view of the ring. The first shards of a cluster create it together by compare-and-swap; later the stored table is
 * the truth, so that a shard that is down keeps its slots (RAID0: its rows are unavailable, never somebody else's).
 */
export class ShardingManager {
  readonly #metadata: MetadataStore;
  readonly #logger: Logger;
  #ring: ConsistentHashRing | undefined;

  constructor(parts: { readonly metadata: MetadataStore; readonly logger: Logger }) {
    this.#metadata = parts.metadata;
    this.#logger = parts.logger;
  }

  /** Reads the ring, or creates it over `initialShards`. */
  async start(initialShards: readonly ShardId[]): Promise<void> {
    const ring = ConsistentHashRing.of(1, assignSlots(initialShards));
    await this.#metadata.transact({
      conditions: [{ key: ringKey, revision: 0 }],
      operations: [{ kind: 'put', key: ringKey, value: JSON.stringify(ring.toJson()) }],
    });
    await this.refresh();
  }

  async refresh(): Promise<void> {
    const stored = await this.#metadata.read(ringKey);
    assert(stored, 'the ring is stored once the cluster has started');
    const ring = new ConsistentHashRing(JSON.parse(stored.value) as RingJson);
    if (this.#ring && ring.epoch !== this.#ring.epoch) this.#logger.info('ring.changed', { epoch: ring.epoch });
    this.#ring = ring;
  }

  get ring(): ConsistentHashRing {
    assert(this.#ring, 'the ring is read before requests are taken');
    return this.#ring;
  }

  /** For requests that carry the epoch they were planned under. Errors: WRONG_EPOCH. */
  checkEpoch(epoch: number): void {
    if (epoch === this.ring.epoch) return;
    throw shardingError('WRONG_EPOCH', `planned under ring epoch ${epoch}, this shard has ${this.ring.epoch}`);
  }
}
