import type { MetadataStore } from '../platform/index.js';
import type { Timestamp } from '../storage/index.js';
import type { TransactionOptions } from './options.js';

export type Decision = { readonly kind: 'commit'; readonly commitTimestamp: Timestamp } | { readonly kind: 'abort' };

const decisionKey = (transactionId: string): string => `decision/${transactionId}`;

/**
 * The commit point of a transaction over several shards: one record per transaction in the metadata store, created if absent, never
 * changed (ARCHITECTURE). Whoever creates it decides: the coordinator commits with it, a participant in doubt aborts with it.
 * A decision to commit stays until every participant has applied it, however long one of them is away: without the record it would
 * abort. A decision to abort has a lease, since its absence means the same once the coordinator has given up.
 */
export class DecisionLog {
  readonly #metadata: MetadataStore;
  readonly #options: TransactionOptions;

  constructor(parts: { readonly metadata: MetadataStore; readonly options: TransactionOptions }) {
    this.#metadata = parts.metadata;
    this.#options = parts.options;
  }

  /** Tries to make `decision` the outcome; returns the one that stands. Errors: METADATA_UNAVAILABLE (then ask again by `resolve`). */
  async decide(transactionId: string, decision: Decision): Promise<Decision> {
    const key = decisionKey(transactionId);
    const leaseId = decision.kind === 'abort' ? await this.#metadata.grantLease(this.#options.decisionKeptMs) : undefined;
    const { committed } = await this.#metadata.transact({
      conditions: [{ key, revision: 0 }],
      operations: [{ kind: 'put', key, value: JSON.stringify(decision), ...(leaseId === undefined ? {} : { leaseId }) }],
    });
    if (committed) return decision;
    if (leaseId !== undefined) await this.#metadata.revokeLease(leaseId);
    return (await this.#stored(transactionId)) ?? { kind: 'abort' };
  }

  /** Every participant has applied the decision: nobody asks for it any more. */
  async forget(transactionId: string): Promise<void> {
    await this.#metadata.transact({ conditions: [], operations: [{ kind: 'delete', key: decisionKey(transactionId) }] });
  }

  /** The outcome of a transaction in doubt: the stored decision, or abort, which is then the decision. */
  async resolve(transactionId: string): Promise<Decision> {
    return (await this.#stored(transactionId)) ?? this.decide(transactionId, { kind: 'abort' });
  }

  async #stored(transactionId: string): Promise<Decision | undefined> {
    const entry = await this.#metadata.read(decisionKey(transactionId));
    return entry && (JSON.parse(entry.value) as Decision);
  }
}
