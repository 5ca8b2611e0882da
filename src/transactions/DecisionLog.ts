import type { ShardId } from '../base/index.js';
import type { MetadataEntry, MetadataStore } from '../platform/index.js';
import type { Timestamp } from '../storage/index.js';
import type { TransactionOptions } from './options.js';

export type Decision = { readonly kind: 'commit'; readonly commitTimestamp: Timestamp } | { readonly kind: 'abort' };

/** As stored. `untold`: participants of a commit that are not known to have applied it. */
type StoredDecision = Decision & { readonly untold?: readonly ShardId[] };

const prefix = 'decision/';
/** Tries to take oneself off a record that others change too; the next sweep goes on. */
const acknowledgeAttemptsMax = 8;

const decisionKey = (transactionId: string): string => `${prefix}${transactionId}`;

/**
 * The commit point of a transaction over several shards: one record per transaction in the metadata store, created if absent, never
 * changed (ARCHITECTURE). Whoever creates it decides: the coordinator commits with it, a participant in doubt aborts with it.
 * A decision to commit stays until every participant has applied it, however long one of them is away: without the record it would
 * abort. It names those that have not, and goes with the last of them, whether or not its coordinator still lives. A decision to abort has a lease, since its absence means the same once the coordinator has given up.
 */
export class DecisionLog {
  readonly #metadata: MetadataStore;
  readonly #options: TransactionOptions;

  constructor(parts: { readonly metadata: MetadataStore; readonly options: TransactionOptions }) {
    this.#metadata = parts.metadata;
    this.#options = parts.options;
  }

  /** Tries to make `decision` the outcome; returns the one that stands. Errors: METADATA_UNAVAILABLE (then ask again by `resolve`). */
  async decide(transactionId: string, decision: Decision, participants: readonly ShardId[]): Promise<Decision> {
    const stored: StoredDecision = decision.kind === 'commit' ? { ...decision, untold: participants } : decision;
    const key = decisionKey(transactionId);
    const leaseId = decision.kind === 'abort' ? await this.#metadata.grantLease(this.#options.decisionKeptMs) : undefined;
    const { committed } = await this.#metadata.transact({
      conditions: [{ key, revision: 0 }],
      operations: [{ kind: 'put', key, value: JSON.stringify(stored), ...(leaseId === undefined ? {} : { leaseId }) }],
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
    return (await this.#stored(transactionId)) ?? this.decide(transactionId, { kind: 'abort' }, []);
  }

  /** Transactions decided to commit of which the shard is not known to have applied its part. */
  async untoldTo(shardId: ShardId): Promise<readonly string[]> {
    const entries = await this.#metadata.list(prefix);
    return entries.filter((entry) => decisionOf(entry).untold?.includes(shardId)).map(({ key }) => key.slice(prefix.length));
  }

  /** The shard has applied the decision. The record goes with the last one. */
  async acknowledge(transactionId: string, shardId: ShardId): Promise<void> {
    for (let attempt = 0; attempt < acknowledgeAttemptsMax; attempt++) {
      const entry = await this.#metadata.read(decisionKey(transactionId));
      if (!entry || (await this.#takeOff(entry, shardId))) return;
    }
  }

  async #takeOff(entry: MetadataEntry, shardId: ShardId): Promise<boolean> {
    const { key, revision } = entry;
    const decision = decisionOf(entry);
    const untold = decision.untold?.filter((id) => id !== shardId) ?? [];
    const value = JSON.stringify({ ...decision, untold });
    const { committed } = await this.#metadata.transact({
      conditions: [{ key, revision }],
      operations: [untold.length === 0 ? { kind: 'delete', key } : { kind: 'put', key, value }],
    });
    return committed;
  }

  async #stored(transactionId: string): Promise<Decision | undefined> {
    const entry = await this.#metadata.read(decisionKey(transactionId));
    if (!entry) return undefined;
    const decision = decisionOf(entry);
    return decision.kind === 'abort' ? { kind: 'abort' } : { kind: 'commit', commitTimestamp: decision.commitTimestamp };
  }
}

const decisionOf = (entry: MetadataEntry): StoredDecision => JSON.parse(entry.value) as StoredDecision;
