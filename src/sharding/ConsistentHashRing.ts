import { type ShardId, sha256Hex } from '../base/index.js';
import { slotCount, slotOf, slotOfHash } from './slotOf.js';

/** The ring as stored: `owners[i]` is an index into `shards`. */
export interface RingJson {
  readonly epoch: number;
  readonly shards: readonly ShardId[];
  readonly owners: readonly number[];
}

/** The versioned owner table (R5). Immutable: another epoch is another object. */
export class ConsistentHashRing {
  readonly epoch: number;
  readonly shards: readonly ShardId[];
  readonly #owners: readonly number[];

  constructor(json: RingJson) {
    this.epoch = json.epoch;
    this.shards = json.shards;
    this.#owners = json.owners;
  }

  static of(epoch: number, owners: readonly ShardId[]): ConsistentHashRing {
    const shards = [...new Set(owners)].sort();
    const indexOf = new Map(shards.map((id, i) => [id, i] as const));
    return new ConsistentHashRing({ epoch, shards, owners: owners.map((id) => indexOf.get(id) as number) });
  }

  ownerOfSlot(slot: number): ShardId {
    return this.shards[this.#owners[slot] as number] as ShardId;
  }

  ownerOf(document: { readonly database: string; readonly collection: string; readonly key: string }): ShardId {
    return this.ownerOfSlot(slotOf(document));
  }

  /** Owner of any hash: requests without a domain use it too (`getShardForKey`, paper §IV-A). */
  ownerOfHash(hash: bigint): ShardId {
    return this.ownerOfSlot(slotOfHash(hash));
  }

  slotsOf(shardId: ShardId): number {
    let count = 0;
    for (let slot = 0; slot < slotCount; slot++) if (this.ownerOfSlot(slot) === shardId) count++;
    return count;
  }

  /** Of every slot's owner and the epoch: rings with the same digest are the same. */
  get digest(): string {
    return sha256Hex(JSON.stringify(this.toJson()));
  }

  toJson(): RingJson {
    return { epoch: this.epoch, shards: this.shards, owners: this.#owners };
  }
}
