import { LruMap } from '../base/index.js';
import type { DocumentStore, Transaction } from '../storage/index.js';
import { type LocalTransactions, transactionError } from '../transactions/index.js';
import type { TransactionJson } from './fragmentWire.js';

/** A dropped transaction must not be opened anew and committed without its earlier writes, so each shard remembers the object it gave out. */
const rememberedMax = 4096;

/** The local transaction that a fragment or write of a query runs in. */
export class ShardTransactions {
  readonly #local: LocalTransactions;
  readonly #documents: DocumentStore;
  readonly #remembered = new LruMap<string, Transaction>({ entriesMax: rememberedMax });

  constructor(parts: { readonly local: LocalTransactions; readonly documents: DocumentStore }) {
    this.#local = parts.local;
    this.#documents = parts.documents;
  }

  /** Errors: TRANSACTION_ABORTED where the shard has dropped it since; those of DocumentStore.begin. */
  async open(request: TransactionJson, signal: AbortSignal): Promise<Transaction> {
    const { id, readTimestamp } = request;
    if (!request.joins) return this.#documents.begin({ id, readTimestamp, signal });
    const transaction = await this.#local.join({ id, readTimestamp, signal });
    const known = this.#remembered.get(id);
    if (request.isKnown && known !== transaction)
      throw transactionError(
        'TRANSACTION_ABORTED',
        `transaction ${id} was dropped by this shard: it was idle too long, or the shard restarted`,
      );
    this.#remembered.set(id, transaction);
    return transaction;
  }
}
