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
    // What the coordinator knows to be here is looked up and never opened: an empty one under the same id would be committed as if nothing was missing.
    const transaction = request.isKnown ? this.#local.find(id) : await this.#local.join({ id, readTimestamp, signal });
    if (transaction === undefined || (request.isKnown && this.#remembered.get(id) !== transaction))
      throw transactionError(
        'TRANSACTION_ABORTED',
        `transaction ${id} was dropped by this shard: it was idle too long, or the shard restarted`,
      );
    this.#remembered.set(id, transaction);
    return transaction;
  }

  /** Keeps a query's transaction from counting as idle while a fragment of it runs. */
  hold(request: TransactionJson): { release(): void } {
    return request.joins ? this.#local.hold(request.id) : { release: () => undefined };
  }
}
