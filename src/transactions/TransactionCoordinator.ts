import { baseError, OstrakaError, type ShardId, toOstrakaError } from '../base/index.js';
import type { Clock, Logger, Metrics, Random } from '../platform/index.js';
import type { RemoteExecutor } from '../rpc/index.js';
import type { HybridLogicalClock, Timestamp } from '../storage/index.js';
import type { DecisionLog } from './DecisionLog.js';
import { transactionError } from './errors.js';
import type { TransactionOptions } from './options.js';

/**
 * A transaction over any shards, seen from the shard that runs the query. Whoever sends a fragment of it to a shard calls `enlist` first.
 * Ends by `commit` or `abort`, once.
 */
export interface DistributedTransaction {
  readonly id: string;
  /** The one snapshot that all its reads see, on every shard. */
  readonly readTimestamp: Timestamp;
  enlist(shardId: ShardId, use: 'read' | 'write'): void;
  /**
   * Commits on all shards or on none. Errors: WRITE_CONFLICT and the like (nothing happened), SHARD_UNAVAILABLE (nothing happened),
   * TRANSACTION_OUTCOME_UNKNOWN (data.transactionId).
   */
  commit(signal: AbortSignal): Promise<void>;
  abort(): Promise<void>;
}

/** Coordinates commits: nothing for reads, one phase for one shard, two phases with a decision record for several (R6). */
export class TransactionCoordinator {
  readonly #executor: RemoteExecutor;
  readonly #timestamps: HybridLogicalClock;
  readonly #decisions: DecisionLog;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #options: TransactionOptions;
  readonly #idPrefix: string;
  readonly #outcomes;
  #nextNumber = 1;
  /** Aborts of which shards are told, also those that nobody waits for any more. */
  readonly #telling = new Set<Promise<unknown>>();
  readonly #stopping = new AbortController();

  constructor(parts: {
    readonly executor: RemoteExecutor;
    readonly timestamps: HybridLogicalClock;
    readonly decisions: DecisionLog;
    readonly clock: Clock;
    readonly random: Random;
    readonly logger: Logger;
    readonly metrics: Metrics;
    readonly options: TransactionOptions;
  }) {
    this.#executor = parts.executor;
    this.#timestamps = parts.timestamps;
    this.#decisions = parts.decisions;
    this.#clock = parts.clock;
    this.#logger = parts.logger;
    this.#options = parts.options;
    this.#outcomes = parts.metrics.counter({
      name: 'transactions_total',
      help: 'ended transactions by outcome and shards that took part',
      labels: ['outcome', 'shards'],
    });
    // Random, so that a restarted shard never reuses an id whose outcome is still remembered.
    this.#idPrefix = `${parts.executor.selfShardId}:${parts.random.uint32().toString(36)}${parts.random.uint32().toString(36)}`;
  }

  begin(): DistributedTransaction {
    const id = `${this.#idPrefix}:${this.#nextNumber++}`;
    const participants = new Map<ShardId, 'read' | 'write'>();
    let isEnding = false;
    return {
      id,
      readTimestamp: this.#timestamps.now(),
      enlist: (shardId, use) => {
        if (participants.get(shardId) !== 'write') participants.set(shardId, use);
      },
      commit: (signal) => {
        isEnding = true;
        return this.#commit(id, participants, signal);
      },
      // A commit that failed has aborted where that is safe. Where its outcome is unknown an abort would tear it in two.
      abort: async () => {
        if (isEnding) return;
        isEnding = true;
        await this.#giveUp(id, [...participants.keys()]);
      },
    };
  }

  /**
   * Aborts that are under way get `abortWaitMsMax` to be heard, and have ended when this resolves. A shard that did not hear resolves the
   * transaction itself.
   */
  async stop(): Promise<void> {
    const told = new AbortController();
    const waited = this.#clock.sleep(this.#options.abortWaitMsMax, told.signal).catch(() => undefined);
    await Promise.race([Promise.all(this.#telling), waited]);
    told.abort();
    this.#stopping.abort(baseError('CANCELLED', 'the shard stops'));
    await Promise.all(this.#telling);
  }

  async #commit(id: string, participants: ReadonlyMap<ShardId, 'read' | 'write'>, signal: AbortSignal): Promise<void> {
    const shards = [...participants.keys()];
    const writes = [...participants.values()].includes('write');
    try {
      if (!writes) await this.#giveUp(id, shards);
      else if (shards.length === 1) await this.#commitOne(id, shards[0] as ShardId, signal);
      else await this.#commitAll(id, shards, signal);
      this.#outcomes.add(1, { outcome: 'committed', shards: String(shards.length) });
    } catch (error) {
      const unknown = error instanceof OstrakaError && error.code === 'TRANSACTION_OUTCOME_UNKNOWN';
      this.#outcomes.add(1, { outcome: unknown ? 'unknown' : 'aborted', shards: String(shards.length) });
      throw error;
    }
  }

  async #commitOne(id: string, shardId: ShardId, signal: AbortSignal): Promise<void> {
    try {
      await this.#call(shardId, 'transaction.commit', { id }, signal);
    } catch (thrown) {
      const error = toOstrakaError(thrown);
      if (error.code === 'TRANSACTION_UNKNOWN') throw dropped(id, error);
      if (!mayHaveRun(error)) throw error;
      throw transactionError('TRANSACTION_OUTCOME_UNKNOWN', `shard ${shardId} was lost while it committed transaction ${id}`, {
        data: { transactionId: id, shard: shardId },
        cause: error,
      });
    }
  }

  async #commitAll(id: string, shards: readonly ShardId[], signal: AbortSignal): Promise<void> {
    const prepared = await Promise.allSettled(shards.map((shardId) => this.#call(shardId, 'transaction.prepare', { id }, signal)));
    const failed = prepared.find((result) => result.status === 'rejected');
    if (failed) {
      await this.#giveUp(id, shards);
      const error = toOstrakaError(failed.reason);
      throw error.code === 'TRANSACTION_UNKNOWN' ? dropped(id, error) : error;
    }
    const proposals = prepared.map((result) => (result.status === 'fulfilled' ? (result.value as { proposal: number }).proposal : 0));
    const decision = await this.#decide(id, shards, await this.#nearTimestamp(id, shards, proposals));
    if (await this.#tell(id, shards, decision)) this.#forget(id);
    if (decision.kind === 'abort')
      throw transactionError('TRANSACTION_ABORTED', `transaction ${id} was aborted by a shard that heard nothing of it for too long`);
    // Only after every participant applied it, or will from the record: then the writer may read its own writes anywhere.
    await this.#timestamps.waitUntilPast(decision.commitTimestamp, signal);
  }

  /** The commit timestamp, refused while that is still possible where the commit would have to wait too long for it: CLOCK_AHEAD. */
  async #nearTimestamp(id: string, shards: readonly ShardId[], proposals: readonly number[]): Promise<Timestamp> {
    const commitTimestamp = Math.max(...proposals) as Timestamp;
    try {
      this.#timestamps.demandNear(commitTimestamp);
    } catch (error) {
      await this.#giveUp(id, shards);
      throw error;
    }
    return commitTimestamp;
  }

  async #decide(id: string, shards: readonly ShardId[], commitTimestamp: Timestamp) {
    this.#timestamps.adopt(commitTimestamp);
    try {
      return await this.#decisions.decide(id, { kind: 'commit', commitTimestamp }, shards);
    } catch (error) {
      const data = { transactionId: id };
      throw transactionError('TRANSACTION_OUTCOME_UNKNOWN', `the decision on transaction ${id} could not be stored for certain`, {
        data,
        cause: error,
      });
    }
  }

  /** Nobody waits for it: a record too many does no harm. */
  #forget(id: string): void {
    this.#decisions.forget(id).catch((error: unknown) => {
      this.#logger.warn('transaction.decision_kept', { transaction: id, error: toOstrakaError(error).message });
    });
  }

  /**
   * Nothing took effect, and the caller learns so soon: an abort that a shard does not hear at once is told on, or found by the shard, while
   * the caller goes on. The short wait lets the locks go first, so that its next try does not meet them. With `abortsToldMax` under way
   * nobody goes on before its own has been told: whoever makes aborts faster than they are heard is slowed down.
   */
  async #giveUp(id: string, shards: readonly ShardId[]): Promise<void> {
    const telling = this.#tell(id, shards, { kind: 'abort' });
    const waits = this.#telling.size >= this.#options.abortsToldMax;
    this.#telling.add(telling);
    const ended = telling.finally(() => this.#telling.delete(telling));
    if (waits) {
      await ended;
      return;
    }
    const told = new AbortController();
    const waited = this.#clock.sleep(this.#options.abortWaitMsMax, told.signal).catch(() => undefined);
    await Promise.race([ended, waited]);
    told.abort();
  }

  /** Tells every participant; one that does not hear resolves the transaction itself from the decision log. True when all have heard. */
  async #tell(id: string, shards: readonly ShardId[], decision: { readonly kind: string }): Promise<boolean> {
    const { signal } = this.#stopping;
    const told = await Promise.allSettled(shards.map((shardId) => this.#call(shardId, 'transaction.decide', { id, decision }, signal)));
    for (const [i, result] of told.entries()) {
      if (result.status === 'rejected')
        this.#logger.warn('transaction.untold', { transaction: id, shard: shards[i], decision: decision.kind });
    }
    return told.every(({ status }) => status === 'fulfilled');
  }

  #call(shardId: ShardId, method: string, body: { readonly [key: string]: never } | object, signal: AbortSignal) {
    const deadlineMs = this.#options.commitDeadlineMs;
    return this.#executor.call({ shardId, method, body: body as never, signal, deadlineMs, idempotent: true });
  }
}

/** A shard that restarted or dropped it has nothing of it: nothing happened, and the writer may run it again. */
const dropped = (id: string, cause: OstrakaError): OstrakaError =>
  transactionError('TRANSACTION_ABORTED', `transaction ${id} was dropped by a shard before it was committed; nothing of it took effect`, {
    cause,
  });

const mayHaveRun = (error: OstrakaError): boolean =>
  (error.code === 'SHARD_UNAVAILABLE' && error.data['mayHaveRun'] !== false) ||
  error.code === 'DEADLINE_EXCEEDED' ||
  error.code === 'CANCELLED';
