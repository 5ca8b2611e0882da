import { movingMean, type ShardId } from '../../base/index.js';
import type { Clock } from '../../platform/index.js';
import type { CooperationOptions } from '../options.js';

interface Cost {
  readonly callMs: number;
  readonly byteMs: number;
}

interface MeasuredCost extends Cost {
  readonly atMs: number;
}

type CostOptions = Pick<CooperationOptions, 'prefixCostWeight' | 'prefixCostFreshMs'>;

const free: Cost = { callMs: 0, byteMs: 0 };

/** What moving rows from each shard costs, as measured: moving means of the time to the first piece and of a byte after it (R27). */
export class TransferCosts {
  readonly #options: CostOptions;
  readonly #clock: Clock;
  readonly #costs = new Map<ShardId, MeasuredCost>();

  constructor({ options, clock }: { readonly options: CostOptions; readonly clock: Clock }) {
    this.#options = options;
    this.#clock = clock;
  }

  /** What was measured long ago counts no more: a link that was bad once is tried again. */
  of(shardId: ShardId): Cost {
    const known = this.#costs.get(shardId);
    return known === undefined || this.#clock.monotonicMs() - known.atMs > this.#options.prefixCostFreshMs ? free : known;
  }

  /** A move, or a part of one that was given up: what came of it counts. Where no bytes came, nothing is known of them. */
  measured(
    shardId: ShardId,
    { callMs, bytes, bytesMs }: { readonly callMs: number; readonly bytes: number; readonly bytesMs: number },
  ): void {
    const before = this.#costs.get(shardId);
    const { prefixCostWeight: weight } = this.#options;
    const byteMs = bytes === 0 ? (before?.byteMs ?? 0) : movingMean(before?.byteMs, bytesMs / bytes, weight);
    this.#costs.set(shardId, { callMs: movingMean(before?.callMs, callMs, weight), byteMs, atMs: this.#clock.monotonicMs() });
  }

  /** Shards that have gone are forgotten. */
  keepOnly(shardIds: ReadonlySet<ShardId>): void {
    for (const shardId of this.#costs.keys()) if (!shardIds.has(shardId)) this.#costs.delete(shardId);
  }
}
