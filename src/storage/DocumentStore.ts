import { type JsonValue, type OstrakaError, raceAbort, toOstrakaError, utf8 } from '../base/index.js';
import type { Clock, OrderedStore, StoreRoom, StoreShortage, StoreWrite } from '../platform/index.js';
import { ConflictTable, type Verdict } from './ConflictTable.js';
import { storageError } from './errors.js';
import { HybridLogicalClock } from './HybridLogicalClock.js';
import { keyLayout, versionCodec } from './KeyLayout.js';
import type { StorageOptions } from './options.js';
import { documentName, ReadSet, type ReadSetJson } from './ReadSet.js';
import type { Timestamp } from './Timestamp.js';
import { type BufferedWrite, Transaction } from './Transaction.js';
import { VersionReader } from './VersionReader.js';

/** What is known of a transaction by its id. `answer` is what the writer wanted remembered, so that a repeated request is answered the same. */
export type TransactionOutcome =
  | { readonly kind: 'committed'; readonly commitTimestamp: Timestamp; readonly answer: JsonValue }
  | { readonly kind: 'prepared' }
  | { readonly kind: 'unknown' };

/** A prepared transaction as stored: enough to take its locks again and to apply it after a crash. */
interface PreparedRecord {
  readonly proposal: Timestamp;
  readonly reads: ReadSetJson;
  readonly writes: readonly { readonly collection: number; readonly key: string; readonly document: string | null }[];
}

interface OutcomeRecord {
  readonly commitTimestamp: Timestamp;
  readonly answer: JsonValue;
}

export interface DocumentStoreParts {
  readonly store: OrderedStore;
  readonly clock: Clock;
  readonly options: StorageOptions;
}

/** Hears of a document that was written or removed, once the change can be read and before its writer knows. Must not throw. */
export type CommitListener = (key: string, commitTimestamp: Timestamp) => void;

const clockName = 'clock';

/**
 * Versioned documents of one shard over an OrderedStore (R4, R6, R7): snapshot reads at a timestamp, serializable commits by
 * validation, two-phase commits with durable prepared records. Every commit is one atomic durable batch. Never knows other shards.
 */
export class DocumentStore {
  readonly timestamps: HybridLogicalClock;
  readonly #store: OrderedStore;
  readonly #clock: Clock;
  readonly #options: StorageOptions;
  readonly #conflicts: ConflictTable;
  readonly #reader: VersionReader;
  readonly #prepared = new Map<string, PreparedRecord>();
  readonly #listeners = new Map<number, Set<CommitListener>>();
  #horizon: Timestamp;

  private constructor(parts: DocumentStoreParts, startAfter: Timestamp) {
    this.#store = parts.store;
    this.#clock = parts.clock;
    this.#options = parts.options;
    this.#reader = new VersionReader({ store: parts.store });
    this.timestamps = new HybridLogicalClock({ clock: parts.clock, startAfter, aheadMsMax: parts.options.clockAheadMsMax });
    this.#conflicts = new ConflictTable({ recentCommitsMax: parts.options.recentCommitsMax, floor: startAfter });
    this.#horizon = 0 as Timestamp;
  }

  /** Opens what a crash left: the clock goes on after the newest commit, prepared transactions hold their locks again. */
  static open(parts: DocumentStoreParts): DocumentStore {
    const stored = parts.store.get(keyLayout.meta(clockName));
    const store = new DocumentStore(parts, (stored ? Number(utf8.decode(stored)) : 0) as Timestamp);
    store.#restorePrepared();
    return store;
  }

  /**
   * A transaction on the snapshot at `readTimestamp` (default: now). Waits for commits of the snapshot that are being stored; for prepared
   * ones its reads wait (`Transaction.ready`). Errors: SNAPSHOT_TOO_OLD, CLOCK_AHEAD.
   */
  async begin(request: {
    readonly id: string;
    readonly readTimestamp?: Timestamp | undefined;
    readonly signal: AbortSignal;
  }): Promise<Transaction> {
    const readTimestamp = request.readTimestamp ?? this.timestamps.now();
    this.timestamps.observe(readTimestamp);
    if (readTimestamp < this.#horizon) throw storageError('SNAPSHOT_TOO_OLD', 'the snapshot is older than the versions kept');
    const start = (): Transaction =>
      new Transaction({
        id: request.id,
        readTimestamp,
        reader: this.#reader,
        clock: this.timestamps,
        options: this.#options,
        horizon: () => this.#horizon,
        undecided: (concerns) => this.#conflicts.undecidedUpTo(readTimestamp, concerns),
        whenFree: (blockers, signal) => this.#whenFree(blockers, () => undefined, signal),
      });
    return this.#whenFree(() => this.#conflicts.pendingUpTo(readTimestamp), start, request.signal);
  }

  /**
   * Validates and commits on this shard alone; durable when it resolves. Without writes it only ends. `answer` is remembered under
   * the transaction id for `snapshotAgeMsMax`. Errors: WRITE_CONFLICT, SNAPSHOT_TOO_OLD, TRANSACTION_IN_DOUBT, STORE_FULL,
   * CLOCK_AHEAD. Once the commit is stored it does not fail: not for the wait that follows, and not for `signal`.
   */
  async commit(transaction: Transaction, answer: JsonValue, signal: AbortSignal): Promise<Timestamp> {
    if (transaction.writes.size === 0) return transaction.readTimestamp;
    const apply = (): { readonly commitTimestamp: Timestamp; readonly applied: Promise<void> } => {
      this.timestamps.demandNear();
      const names = new Set(transaction.writes.keys());
      const commitTimestamp = this.timestamps.now();
      const writes = [
        ...this.#versionWrites(transaction.writes.values(), commitTimestamp),
        outcomeWrite(transaction.id, { commitTimestamp, answer }),
      ];
      return { commitTimestamp, applied: this.#apply(writes, { commitTimestamp, names, room: roomOf(transaction) }) };
    };
    const { commitTimestamp, applied } = await this.#whenFree(() => this.#blockers(transaction), apply, signal);
    await applied;
    await this.timestamps.waitUntilPast(commitTimestamp, signal);
    return commitTimestamp;
  }

  /**
   * First phase: validates, takes locks on everything read and written, and makes that durable. Returns the proposed commit timestamp.
   * Refuses at once instead of waiting for another prepared transaction, so that two cannot wait for each other.
   */
  async prepare(transaction: Transaction): Promise<Timestamp> {
    this.timestamps.demandNear();
    this.#demandValid(this.#verdict(transaction));
    const proposal = this.timestamps.now();
    const record = toPreparedRecord(transaction, proposal);
    this.#lock(transaction.id, record);
    try {
      await this.#write([putJson(keyLayout.prepared(transaction.id), record)], proposal, roomOf(transaction));
    } catch (error) {
      this.#unlock(transaction.id);
      throw error;
    }
    return proposal;
  }

  /** Second phase; idempotent. A transaction that is not prepared here (decided before) is left alone. */
  async decide(
    transactionId: string,
    decision: { readonly kind: 'commit'; readonly commitTimestamp: Timestamp } | { readonly kind: 'abort' },
  ): Promise<void> {
    const record = this.#prepared.get(transactionId);
    if (!record) return;
    const end: StoreWrite = { kind: 'delete', key: keyLayout.prepared(transactionId) };
    if (decision.kind === 'abort') await this.#write([end], this.timestamps.last(), 'reserve');
    else await this.#commitPrepared(transactionId, record, decision.commitTimestamp, end);
    this.#unlock(transactionId);
  }

  /** Calls back for each document of a collection that a commit writes, until the returned function is called. */
  watch(collection: number, listener: CommitListener): () => void {
    const listeners = this.#listeners.get(collection) ?? new Set();
    this.#listeners.set(collection, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(collection) === listeners) this.#listeners.delete(collection);
    };
  }

  /** Ids of transactions prepared here and not decided. */
  inDoubt(): readonly string[] {
    return [...this.#prepared.keys()];
  }

  outcomeOf(transactionId: string): TransactionOutcome {
    if (this.#prepared.has(transactionId)) return { kind: 'prepared' };
    const bytes = this.#store.get(keyLayout.outcome(transactionId));
    return bytes ? { kind: 'committed', ...(JSON.parse(utf8.decode(bytes)) as OutcomeRecord) } : { kind: 'unknown' };
  }

  /** True while a commit of this document is on its way to the store; its rows are not to be judged by what is stored now. */
  isBeingWritten(collection: number, key: string): boolean {
    return this.#conflicts.isBeingWritten(documentName(collection, key));
  }

  /** Ordinary writes are refused for want of room; reads and removals go on. */
  get isFull(): boolean {
    return this.#store.isFull;
  }

  /** What a full store lacks; undefined where it is not full. */
  get shortage(): StoreShortage | undefined {
    return this.#store.shortage;
  }

  /**
   * Versions older than this may be collected; older snapshots are refused from now on. Never moves back, whatever the wall clock does.
   * On a full disk versions are kept for a shorter time: what was removed gives its room back only with them.
   */
  advanceHorizon(): Timestamp {
    const { snapshotAgeMsMax, snapshotAgeFullMsMax } = this.#options;
    const ageMs = this.#store.isFull ? Math.min(snapshotAgeMsMax, snapshotAgeFullMsMax) : snapshotAgeMsMax;
    this.#horizon = Math.max(this.#horizon, this.timestamps.before(ageMs)) as Timestamp;
    this.#conflicts.forgetUpTo(this.#horizon);
    return this.#horizon;
  }

  /** Outcomes of transactions before it are asked for no more. */
  outcomesKeptAfter(): Timestamp {
    return this.timestamps.before(this.#options.snapshotAgeMsMax);
  }

  async #commitPrepared(transactionId: string, record: PreparedRecord, commitTimestamp: Timestamp, end: StoreWrite): Promise<void> {
    this.timestamps.adopt(commitTimestamp);
    const buffered = record.writes.map(({ collection, key, document }) => ({
      collection,
      key,
      document: document === null ? undefined : utf8.encode(document),
    }));
    const names = new Set(buffered.map(({ collection, key }) => documentName(collection, key)));
    const outcome = outcomeWrite(transactionId, { commitTimestamp, answer: null });
    const writes = [...this.#versionWrites(buffered, commitTimestamp), end, outcome];
    await this.#apply(writes, { commitTimestamp, names, room: 'reserve' });
  }

  async #apply(
    writes: readonly StoreWrite[],
    commit: { readonly commitTimestamp: Timestamp; readonly names: ReadonlySet<string>; readonly room: StoreRoom },
  ): Promise<void> {
    const { commitTimestamp, names, room } = commit;
    const pending = this.#conflicts.beginCommit(commitTimestamp, names);
    try {
      await this.#write(writes, commitTimestamp, room);
      pending.settle();
      this.#tell(names, commitTimestamp);
    } catch (error) {
      // Of a full disk it is certain that nothing was stored; of a damaged one it is not.
      if (toOstrakaError(error).code === 'STORE_FULL') pending.forget();
      else pending.settle();
      throw error;
    }
  }

  #tell(names: ReadonlySet<string>, commitTimestamp: Timestamp): void {
    if (this.#listeners.size === 0) return;
    for (const name of names) {
      const border = name.indexOf('/');
      for (const listener of this.#listeners.get(Number(name.slice(0, border))) ?? []) listener(name.slice(border + 1), commitTimestamp);
    }
  }

  /** What may use the reserve is tried again when it is the first to meet the full disk: the reserve is free for it then. */
  async #write(writes: readonly StoreWrite[], timestamp: Timestamp, room: StoreRoom): Promise<void> {
    try {
      await this.#store.commit([...writes, this.#clockWrite(timestamp)], room);
    } catch (error) {
      if (room === 'ordinary' || toOstrakaError(error).code !== 'STORE_FULL') throw error;
      await this.#store.commit([...writes, this.#clockWrite(timestamp)], room);
    }
  }

  #clockWrite(timestamp: Timestamp): StoreWrite {
    return { kind: 'put', key: keyLayout.meta(clockName), value: utf8.encode(String(Math.max(timestamp, this.timestamps.last()))) };
  }

  *#versionWrites(writes: Iterable<BufferedWrite>, timestamp: Timestamp): Iterable<StoreWrite> {
    for (const { collection, key, document } of writes) {
      const current = keyLayout.current(collection, key);
      const oldBytes = this.#store.get(current);
      if (!oldBytes && document === undefined) continue;
      if (oldBytes) {
        const old = versionCodec.decodeCurrent(oldBytes);
        yield { kind: 'put', key: keyLayout.history(collection, key, old.timestamp), value: versionCodec.encodeHistory(old.document) };
      }
      yield { kind: 'put', key: current, value: versionCodec.encodeCurrent({ timestamp, document }) };
    }
  }

  #verdict(transaction: Transaction): Verdict {
    const { readTimestamp, reads } = transaction;
    return this.#conflicts.validate({ readTimestamp, reads, writes: new Set(transaction.writes.keys()) });
  }

  /** The prepared transactions in the way, none when valid; throws on a real conflict. */
  #blockers(transaction: Transaction): Promise<void>[] {
    const verdict = this.#verdict(transaction);
    if (verdict.kind === 'blocked') return [verdict.until];
    this.#demandValid(verdict);
    return [];
  }

  #demandValid(verdict: Verdict): void {
    const error = errorOf(verdict);
    if (error) throw error;
  }

  /**
   * Waits until `blockers` gives none and then does `work` in the same turn: an await between the two, also that of an async function's
   * return, would let another commit pass its validation on the state before this one.
   */
  async #whenFree<Value>(blockers: () => Promise<void>[], work: () => Value, signal: AbortSignal): Promise<Value> {
    let waiting = blockers();
    if (waiting.length === 0) return work();
    const deadline = new AbortController();
    const timer = this.#clock.setTimer(this.#options.lockWaitMsMax, () => {
      deadline.abort(storageError('TRANSACTION_IN_DOUBT', 'waited too long for a transaction whose outcome is not known yet'));
    });
    try {
      while (waiting.length > 0) {
        await raceAbort(Promise.all(waiting), AbortSignal.any([signal, deadline.signal]));
        waiting = blockers();
      }
      return work();
    } finally {
      timer.cancel();
    }
  }

  #lock(transactionId: string, record: PreparedRecord): void {
    const writes = new Set(record.writes.map(({ collection, key }) => documentName(collection, key)));
    this.#conflicts.lock(transactionId, record.proposal, { reads: new ReadSet(record.reads), writes });
    this.#prepared.set(transactionId, record);
  }

  #unlock(transactionId: string): void {
    this.#prepared.delete(transactionId);
    this.#conflicts.unlock(transactionId);
  }

  #restorePrepared(): void {
    const { from, to } = keyLayout.all('prepared');
    // All of them, however many: one left out would lose its locks.
    for (const { key, value } of this.#store.scan({ from, to, entriesMax: Number.MAX_SAFE_INTEGER })) {
      const record = JSON.parse(utf8.decode(value)) as PreparedRecord;
      this.timestamps.adopt(record.proposal);
      this.#lock(keyLayout.nameOf(key), record);
    }
  }
}

const putJson = (key: Uint8Array, value: unknown): StoreWrite => ({ kind: 'put', key, value: utf8.encode(JSON.stringify(value)) });

const outcomeWrite = (transactionId: string, record: OutcomeRecord): StoreWrite => putJson(keyLayout.outcome(transactionId), record);

/** A transaction that only removes frees room, once the versions it ends are collected. */
const roomOf = (transaction: Transaction): StoreRoom =>
  [...transaction.writes.values()].every(({ document }) => document === undefined) ? 'reserve' : 'ordinary';

const toPreparedRecord = (transaction: Transaction, proposal: Timestamp): PreparedRecord => ({
  proposal,
  reads: transaction.reads.toJson(),
  writes: [...transaction.writes.values()].map(({ collection, key, document }) => ({
    collection,
    key,
    document: document === undefined ? null : utf8.decode(document),
  })),
});

const errorOf = (verdict: Verdict): OstrakaError | undefined => {
  if (verdict.kind === 'valid') return undefined;
  if (verdict.kind === 'too-old')
    return storageError('SNAPSHOT_TOO_OLD', 'the transaction is older than the commits remembered for validation');
  const what = verdict.kind === 'conflict' ? verdict.name.replace(/^\d+\//, '') : 'a document';
  return storageError('WRITE_CONFLICT', `write-write conflict: ${what} was changed by another transaction`);
};
