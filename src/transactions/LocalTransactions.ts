import { LruMap, type ShardId, SharedWork } from '../base/index.js';
import type { Clock, Logger } from '../platform/index.js';
import { type DocumentStore, storageError, type Timestamp, type Transaction } from '../storage/index.js';
import type { DecisionLog } from './DecisionLog.js';
import { transactionError } from './errors.js';
import type { TransactionOptions } from './options.js';

interface Open {
  readonly transaction: Transaction;
  usedAtMs: number;
  /** Fragments that run in it now. */
  holders: number;
  /** Set once prepare has begun: from then on only a decision ends the transaction. A repeated prepare gets the same proposal. */
  prepared: { readonly atMs: number; readonly proposal: Promise<Timestamp> } | undefined;
}

/**
 * The part of cross-shard transactions that lives on this shard: opens the local transaction when the first fragment arrives, ends it by
 * the coordinator's word, and resolves what stays in doubt from the decision log (also after a restart).
 */
export class LocalTransactions {
  readonly #selfShardId: ShardId;
  readonly #documents: DocumentStore;
  readonly #decisions: DecisionLog;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #options: TransactionOptions;
  readonly #open = new Map<string, Open>();
  /** Waiting for their snapshot. */
  readonly #beginning = new SharedWork<Transaction>();
  /** A repeated commit waits for the first instead of finding nothing. */
  readonly #committing = new SharedWork<Timestamp>();
  /** Commits without writes leave no outcome in the store: a repetition after a lost answer finds them here, or nothing happened at all. */
  readonly #ended: LruMap<string, Timestamp>;
  #sweptAtMs = Number.NEGATIVE_INFINITY;

  constructor(parts: {
    readonly selfShardId: ShardId;
    readonly documents: DocumentStore;
    readonly decisions: DecisionLog;
    readonly clock: Clock;
    readonly logger: Logger;
    readonly options: TransactionOptions;
  }) {
    this.#selfShardId = parts.selfShardId;
    this.#ended = new LruMap({ entriesMax: parts.options.endedRememberedMax });
    this.#documents = parts.documents;
    this.#decisions = parts.decisions;
    this.#clock = parts.clock;
    this.#logger = parts.logger;
    this.#options = parts.options;
  }

  /** The local transaction of `id`, opened on its snapshot at first use. Errors: TRANSACTION_LIMIT, and those of DocumentStore.begin. */
  async join(request: { readonly id: string; readonly readTimestamp: Timestamp; readonly signal: AbortSignal }): Promise<Transaction> {
    const known = this.#open.get(request.id);
    if (known) {
      known.usedAtMs = this.#clock.monotonicMs();
      return known.transaction;
    }
    return this.#beginning.run(request.id, (signal) => this.#begin({ ...request, signal }), request.signal);
  }

  /** The transaction if it is open here; never opens it. */
  find(id: string): Transaction | undefined {
    const known = this.#open.get(id);
    if (known) known.usedAtMs = this.#clock.monotonicMs();
    return known?.transaction;
  }

  /** While held, a transaction is in use and not idle, however long its fragment thinks. Release once. */
  hold(id: string): { release(): void } {
    const known = this.#open.get(id);
    if (!known) return { release: () => undefined };
    known.holders++;
    return {
      release: () => {
        known.holders--;
        known.usedAtMs = this.#clock.monotonicMs();
      },
    };
  }

  /** One-phase commit, when this shard is the only one. Repeating it gives the same answer. */
  async commit(id: string, signal: AbortSignal): Promise<Timestamp> {
    return this.#committing.run(id, (own) => this.#commitOnce(id, own), signal);
  }

  /** First phase; repeating it gives the same proposal. Errors: TRANSACTION_UNKNOWN, and as DocumentStore.prepare. */
  async prepare(id: string): Promise<Timestamp> {
    const open = this.#open.get(id);
    if (!open) throw transactionError('TRANSACTION_UNKNOWN', `transaction ${id} is not open on this shard`);
    open.prepared ??= {
      atMs: this.#clock.monotonicMs(),
      proposal: this.#documents.prepare(open.transaction),
    };
    try {
      return await open.prepared.proposal;
    } catch (error) {
      open.prepared = undefined;
      throw error;
    }
  }

  /** Idempotent. */
  async decide(
    id: string,
    decision: { readonly kind: 'commit'; readonly commitTimestamp: Timestamp } | { readonly kind: 'abort' },
  ): Promise<void> {
    this.#beginning.abort(id, transactionError('TRANSACTION_ABORTED', `transaction ${id} ended before it was open on this shard`));
    await this.#documents.decide(id, decision);
    this.#open.delete(id);
  }

  /** Resolves prepared transactions whose coordinator is silent, and forgets idle ones. Called by a timer and once at start with `isStart`. */
  async resolve(isStart: boolean): Promise<void> {
    this.#dropIdle();
    for (const id of this.#documents.inDoubt()) {
      const preparedAtMs = this.#open.get(id)?.prepared?.atMs;
      const silentMs = preparedAtMs === undefined ? Number.POSITIVE_INFINITY : this.#clock.monotonicMs() - preparedAtMs;
      if (!isStart && silentMs < this.#options.inDoubtAfterMs) continue;
      const decision = await this.#decisions.resolve(id);
      this.#logger.warn('transaction.resolved', { transaction: id, decision: decision.kind });
      await this.decide(id, decision);
    }
    await this.#acknowledgeApplied(isStart);
  }

  /**
   * Decisions stay until all participants have applied them; one whose answer was lost, or whose coordinator died, says so itself here.
   * What is decided to commit was prepared on every participant, so what is not prepared here any more has been applied.
   */
  async #acknowledgeApplied(isStart: boolean): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    if (!isStart && nowMs - this.#sweptAtMs < this.#options.decisionSweepMs) return;
    this.#sweptAtMs = nowMs;
    for (const id of await this.#decisions.untoldTo(this.#selfShardId)) {
      if (this.#documents.outcomeOf(id).kind !== 'prepared') await this.#decisions.acknowledge(id, this.#selfShardId);
    }
  }

  async #begin(request: { readonly id: string; readonly readTimestamp: Timestamp; readonly signal: AbortSignal }): Promise<Transaction> {
    if (this.#open.size + this.#beginning.size >= this.#options.openMax) {
      throw storageError('TRANSACTION_LIMIT', `${this.#options.openMax} transactions are open on this shard`);
    }
    const transaction = await this.#documents.begin(request);
    this.#open.set(request.id, { transaction, usedAtMs: this.#clock.monotonicMs(), holders: 0, prepared: undefined });
    return transaction;
  }

  async #commitOnce(id: string, signal: AbortSignal): Promise<Timestamp> {
    const outcome = this.#documents.outcomeOf(id);
    if (outcome.kind === 'committed') return outcome.commitTimestamp;
    return this.#ended.get(id) ?? this.#commitOpen(id, signal);
  }

  async #commitOpen(id: string, signal: AbortSignal): Promise<Timestamp> {
    const open = this.#open.get(id);
    if (!open) throw transactionError('TRANSACTION_UNKNOWN', `transaction ${id} is not open on this shard`);
    this.#open.delete(id);
    try {
      const timestamp = await this.#documents.commit(open.transaction, null, signal);
      if (open.transaction.writes.size === 0) this.#ended.set(id, timestamp);
      return timestamp;
    } catch (error) {
      // Given up before anything was stored: a repetition finds it open.
      if (signal.aborted) this.#open.set(id, { ...open, usedAtMs: this.#clock.monotonicMs() });
      throw error;
    }
  }

  #dropIdle(): void {
    const oldest = this.#clock.monotonicMs() - this.#options.idleMsMax;
    for (const [id, open] of this.#open) {
      if (open.prepared === undefined && open.holders === 0 && open.usedAtMs < oldest) this.#open.delete(id);
    }
  }
}
