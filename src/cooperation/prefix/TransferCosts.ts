import type { ShardId } from '../../base/index.js';
import type { CooperationOptions } from '../options.js';

interface Cost {
  readonly callMs: number;
  readonly byteMs: number;
}

const free: Cost = { callMs: 0, byteMs: 0 };

/** What moving rows from each shard costs, as measured: moving means of the time to the first piece and of a byte after it (R27). */
export class TransferCosts {
  readonly #weight: number;
  readonly #costs = new Map<ShardId, Cost>();

  constructor(options: Pick<CooperationOptions, 'prefixCostWeight'>) {
    this.#weight = options.prefixCostWeight;
  }

  of(shardId: ShardId): Cost {
    return this.#costs.get(shardId) ?? free;
  }

  /** A move, or a part of one that was given up: what came of it counts. */
  measured(
    shardId: ShardId,
    { callMs, bytes, bytesMs }: { readonly callMs: number; readonly bytes: number; readonly bytesMs: number },
  ): void {
    const before = this.#costs.get(shardId);
    const byteMs = bytesMs / Math.max(1, bytes);
    this.#costs.set(shardId, { callMs: this.#mean(before?.callMs, callMs), byteMs: this.#mean(before?.byteMs, byteMs) });
  }

  /** Shards that have gone are forgotten. */
  keepOnly(shardIds: ReadonlySet<ShardId>): void {
    for (const shardId of this.#costs.keys()) if (!shardIds.has(shardId)) this.#costs.delete(shardId);
  }

  #mean(before: number | undefined, value: number): number {
    return before === undefined ? value : before + (value - before) * this.#weight;
  }
}
