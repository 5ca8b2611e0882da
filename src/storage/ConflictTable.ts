import { assert } from '../base/index.js';
import type { ReadSet } from './ReadSet.js';
import type { Timestamp } from './Timestamp.js';

/** What a transaction read and is about to write, for validation. */
export interface Footprint {
  readonly readTimestamp: Timestamp;
  readonly reads: ReadSet;
  readonly writes: ReadonlySet<string>;
}

/** A commit that readers at or after its timestamp may have to wait for: being written, or prepared and undecided. */
interface Pending {
  readonly timestamp: Timestamp;
  readonly writes: ReadonlySet<string>;
  readonly done: Promise<void>;
  readonly finish: () => void;
}

interface RecentCommit {
  readonly timestamp: Timestamp;
  readonly names: ReadonlySet<string>;
}

interface PreparedLock extends Pending {
  readonly reads: ReadSet;
}

export type Verdict =
  | { readonly kind: 'valid' }
  | { readonly kind: 'conflict'; readonly name: string }
  | { readonly kind: 'too-old' }
  | { readonly kind: 'blocked'; readonly until: Promise<void> };

const pendingAt = (timestamp: Timestamp, writes: ReadonlySet<string>): Pending => {
  let finish: () => void = () => undefined;
  const done = new Promise<void>((resolve) => {
    finish = resolve;
  });
  return { timestamp, writes, done, finish };
};

const overlap = (
  names: Iterable<string>,
  footprint: { readonly reads: ReadSet; readonly writes: ReadonlySet<string> },
): string | undefined => {
  for (const name of names) if (footprint.writes.has(name) || footprint.reads.covers(name)) return name;
  return undefined;
};

/**
 * Backward validation (R6): a transaction commits only if nothing it read or writes was changed by a commit after its snapshot, which
 * makes the order of commit timestamps a serial order. Prepared transactions hold locks on what they read and write until decided.
 * Single-threaded: a verdict and the registration that follows it happen without an await between.
 */
export class ConflictTable {
  readonly #recent: RecentCommit[] = [];
  readonly #recentCommitsMax: number;
  readonly #pending = new Set<Pending>();
  readonly #locks = new Map<string, PreparedLock>();
  #floor: Timestamp;

  constructor(options: { readonly recentCommitsMax: number; readonly floor: Timestamp }) {
    this.#recentCommitsMax = options.recentCommitsMax;
    this.#floor = options.floor;
  }

  validate(footprint: Footprint): Verdict {
    if (footprint.readTimestamp < this.#floor) return { kind: 'too-old' };
    for (let i = this.#recent.length - 1; i >= 0; i--) {
      const commit = this.#recent[i];
      if (commit === undefined || commit.timestamp <= footprint.readTimestamp) break;
      const name = overlap(commit.names, footprint);
      if (name !== undefined) return { kind: 'conflict', name };
    }
    for (const lock of this.#locks.values()) {
      if (overlap(lock.writes, footprint) !== undefined || overlap(footprint.writes, lock) !== undefined) {
        return { kind: 'blocked', until: lock.done };
      }
    }
    return { kind: 'valid' };
  }

  /**
   * A validated commit gets its place in the order; `settle` when it is durable or may be. `forget` when it surely is not: then nobody
   * conflicts with it any more.
   */
  beginCommit(timestamp: Timestamp, names: ReadonlySet<string>): { settle(): void; forget(): void } {
    const pending = pendingAt(timestamp, names);
    this.#pending.add(pending);
    const remembered = this.#remember(timestamp, names);
    const settle = (): void => {
      this.#pending.delete(pending);
      pending.finish();
    };
    const forget = (): void => {
      const at = this.#recent.indexOf(remembered);
      if (at !== -1) this.#recent.splice(at, 1);
      settle();
    };
    return { settle, forget };
  }

  lock(transactionId: string, proposal: Timestamp, footprint: { readonly reads: ReadSet; readonly writes: ReadonlySet<string> }): void {
    assert(!this.#locks.has(transactionId), 'a transaction is prepared once', { transactionId });
    this.#locks.set(transactionId, { ...pendingAt(proposal, footprint.writes), reads: footprint.reads });
  }

  unlock(transactionId: string): void {
    const lock = this.#locks.get(transactionId);
    this.#locks.delete(transactionId);
    lock?.finish();
  }

  /** The commits on their way to the store that belong to the snapshot at `timestamp`. */
  pendingUpTo(timestamp: Timestamp): Promise<void>[] {
    return [...this.#pending].filter((one) => one.timestamp <= timestamp).map((one) => one.done);
  }

  /**
   * The prepared transactions that may belong to the snapshot at `timestamp` and write what `concerns` names. The others are no business of
   * the reader, however long they stay undecided.
   */
  undecidedUpTo(timestamp: Timestamp, concerns: (name: string) => boolean): Promise<void>[] {
    const undecided = [...this.#locks.values()].filter((lock) => lock.timestamp <= timestamp);
    return undecided.filter(({ writes }) => [...writes].some(concerns)).map(({ done }) => done);
  }

  /** Whether a commit that writes this document is on its way to the store: what is stored of it is about to change. */
  isBeingWritten(name: string): boolean {
    for (const { writes } of this.#pending) if (writes.has(name)) return true;
    return false;
  }

  /** Forgets commits up to `timestamp`: older snapshots can no longer be validated. */
  forgetUpTo(timestamp: Timestamp): void {
    const kept = this.#recent.findIndex((commit) => commit.timestamp > timestamp);
    this.#recent.splice(0, kept === -1 ? this.#recent.length : kept);
    if (timestamp > this.#floor) this.#floor = timestamp;
  }

  // A decided cross-shard commit can have a timestamp below later local ones: insert in order.
  #remember(timestamp: Timestamp, names: ReadonlySet<string>): RecentCommit {
    const remembered = { timestamp, names };
    let at = this.#recent.length;
    while (at > 0 && (this.#recent[at - 1]?.timestamp ?? 0) > timestamp) at--;
    this.#recent.splice(at, 0, remembered);
    const oldest = this.#recent.length > this.#recentCommitsMax ? this.#recent.shift() : undefined;
    if (oldest && oldest.timestamp > this.#floor) this.#floor = oldest.timestamp;
    return remembered;
  }
}
