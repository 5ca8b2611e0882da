import type { ShardId } from '../base/index.js';
import type { DistributedTransaction } from '../transactions/index.js';
import type { TransactionJson } from './fragmentWire.js';

/** A query's use of its transaction: which shards it has asked, and whether they keep state for it. */
export class QueryTransaction {
  readonly #transaction: DistributedTransaction;
  readonly #known: Set<ShardId>;
  /** False: a read-only query outside a transaction, which leaves nothing on the shards. */
  readonly joins: boolean;

  /** `known`: shards that answered earlier queries of the same transaction. */
  constructor(transaction: DistributedTransaction, parts: { readonly joins: boolean; readonly known: Set<ShardId> }) {
    this.#transaction = transaction;
    this.#known = parts.known;
    this.joins = parts.joins;
  }

  /**
   * What goes with a call to the shard. A shard that is to write takes part from now on; one that is only read takes part once it has
   * answered, since a call that was given up early may never have reached it.
   */
  use(shardId: ShardId, use: 'read' | 'write'): TransactionJson {
    const { id, readTimestamp } = this.#transaction;
    if (this.joins && use === 'write') this.#transaction.enlist(shardId, use);
    return { id, readTimestamp, joins: this.joins, isKnown: this.#known.has(shardId) };
  }

  /** The shard has answered: it has the transaction from now on. */
  answered(shardId: ShardId): void {
    if (!this.joins || this.#known.has(shardId)) return;
    this.#known.add(shardId);
    this.#transaction.enlist(shardId, 'read');
  }

  get knownShards(): readonly ShardId[] {
    return [...this.#known];
  }
}
