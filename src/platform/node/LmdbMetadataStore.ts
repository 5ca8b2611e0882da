import { randomUUID } from 'node:crypto';
import { open, type RootDatabase } from 'lmdb';
import type { Clock, MetadataChange, MetadataCondition, MetadataEntry, MetadataOperation, MetadataStore } from '../index.js';
import { platformError } from '../index.js';
import { checkLmdbFile } from './checkLmdbFile.js';

interface StoredEntry {
  readonly value: string;
  readonly revision: number;
  readonly leaseId?: string;
}

interface StoredLease {
  readonly ttlMs: number;
  readonly expiresAtMs: number;
}

type Key = ['entry' | 'lease', string] | ['change', number] | ['revision'];
type Value = StoredEntry | StoredLease | MetadataChange | number;

const options = {
  /** LMDB has no news between processes, so a watch looks at the revision this often. */
  watchPollMs: 50,
  /** Changes kept for watches. */
  changesMax: 10_000,
} as const;

/**
 * MetadataStore in one LMDB file that the shard processes of a machine share (R3). A write transaction is exclusive across processes,
 * so a compare-and-swap is one; expired leases end inside the next write or look. Wall clocks are one and the same on one machine.
 */
export class LmdbMetadataStore implements MetadataStore {
  readonly #database: RootDatabase<Value, Key>;
  readonly #clock: Clock;
  #closed = false;

  constructor(parts: { readonly folder: string; readonly clock: Clock }) {
    checkLmdbFile(parts.folder);
    this.#database = open<Value, Key>({
      path: parts.folder,
      noSubdir: false,
      encoding: 'json',
      overlappingSync: false,
      eventTurnBatching: false,
      commitDelay: 0,
      cache: false,
    });
    this.#clock = parts.clock;
  }

  async revision(): Promise<number> {
    return this.#read(() => this.#revisionNow());
  }

  async read(key: string): Promise<MetadataEntry | undefined> {
    return this.#read(() => {
      const entry = this.#database.get(['entry', key]) as StoredEntry | undefined;
      return entry && this.#isAlive(entry) ? { key, value: entry.value, revision: entry.revision } : undefined;
    });
  }

  async list(prefix: string): Promise<readonly MetadataEntry[]> {
    return this.#read(() => this.#entriesOf(prefix));
  }

  async transact(request: {
    readonly conditions: readonly MetadataCondition[];
    readonly operations: readonly MetadataOperation[];
  }): Promise<{ readonly committed: boolean; readonly revision: number }> {
    return this.#write(() => {
      const holds = request.conditions.every(({ key, revision }) => this.#keyRevision(key) === revision);
      if (!holds) return { committed: false, revision: this.#revisionNow() };
      for (const operation of request.operations) this.#apply(operation);
      return { committed: true, revision: this.#revisionNow() };
    });
  }

  async grantLease(ttlMs: number): Promise<string> {
    const leaseId = randomUUID();
    await this.#write(() => this.#putLease(leaseId, ttlMs));
    return leaseId;
  }

  async renewLease(leaseId: string): Promise<boolean> {
    return this.#write(() => {
      const lease = this.#database.get(['lease', leaseId]) as StoredLease | undefined;
      if (!lease) return false;
      this.#putLease(leaseId, lease.ttlMs);
      return true;
    });
  }

  async revokeLease(leaseId: string): Promise<void> {
    await this.#write(() => this.#endLease(leaseId));
  }

  async *watch(prefix: string, fromRevision: number, signal: AbortSignal): AsyncGenerator<MetadataChange, void, void> {
    let seen = fromRevision;
    while (!signal.aborted && !this.#closed) {
      await this.#endExpiredLeases();
      const changes = this.#changesAfter(seen);
      for (const change of changes) if (change.key.startsWith(prefix)) yield change;
      seen = changes.at(-1)?.revision ?? seen;
      await this.#clock.sleep(options.watchPollMs, signal).catch(() => undefined);
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#database.close();
  }

  #changesAfter(revision: number): MetadataChange[] {
    if (this.#closed) return [];
    const changes = [...this.#database.getRange({ start: ['change', revision + 1], end: ['change', Number.MAX_SAFE_INTEGER] })];
    const first = (changes[0]?.value as MetadataChange | undefined)?.revision;
    if (first !== undefined && first > revision + 1) throw platformError('METADATA_COMPACTED', 'the watched revision is no longer kept');
    return changes.map(({ value }) => value as MetadataChange);
  }

  #entriesOf(prefix: string): MetadataEntry[] {
    const range = this.#database.getRange({ start: ['entry', prefix], end: ['entry', `${prefix}\uffff`] });
    return [...range].flatMap(({ key, value }) => {
      const entry = value as StoredEntry;
      return this.#isAlive(entry) ? [{ key: key[1] as string, value: entry.value, revision: entry.revision }] : [];
    });
  }

  #isAlive(entry: StoredEntry): boolean {
    if (entry.leaseId === undefined) return true;
    const lease = this.#database.get(['lease', entry.leaseId]) as StoredLease | undefined;
    return lease !== undefined && lease.expiresAtMs > this.#clock.nowMs();
  }

  #keyRevision(key: string): number {
    return (this.#database.get(['entry', key]) as StoredEntry | undefined)?.revision ?? 0;
  }

  #revisionNow(): number {
    return (this.#database.get(['revision']) as number | undefined) ?? 0;
  }

  #apply(operation: MetadataOperation): void {
    const { key } = operation;
    if (operation.kind === 'delete') {
      if (this.#keyRevision(key) === 0) return;
      this.#log({ kind: 'delete', key, value: '', revision: this.#revisionNow() + 1 });
      this.#database.removeSync(['entry', key]);
      return;
    }
    const revision = this.#revisionNow() + 1;
    const { value, leaseId } = operation;
    this.#log({ kind: 'put', key, value, revision });
    this.#database.putSync(['entry', key], leaseId === undefined ? { value, revision } : { value, revision, leaseId });
  }

  #log(change: MetadataChange): void {
    this.#database.putSync(['revision'], change.revision);
    this.#database.putSync(['change', change.revision], change);
    this.#database.removeSync(['change', change.revision - options.changesMax]);
  }

  #putLease(leaseId: string, ttlMs: number): void {
    this.#database.putSync(['lease', leaseId], { ttlMs, expiresAtMs: this.#clock.nowMs() + ttlMs });
  }

  #endLease(leaseId: string): void {
    this.#database.removeSync(['lease', leaseId]);
    for (const { key, value } of this.#database.getRange({ start: ['entry', ''], end: ['entry', '\uffff'] })) {
      if ((value as StoredEntry).leaseId === leaseId) this.#apply({ kind: 'delete', key: key[1] as string });
    }
  }

  #expiredLeases(): string[] {
    const leases = [...this.#database.getRange({ start: ['lease', ''], end: ['lease', '\uffff'] })];
    return leases.filter(({ value }) => (value as StoredLease).expiresAtMs <= this.#clock.nowMs()).map(({ key }) => key[1] as string);
  }

  async #endExpiredLeases(): Promise<void> {
    if (this.#closed || this.#expiredLeases().length === 0) return;
    await this.#write(() => undefined);
  }

  async #write<Result>(work: () => Result): Promise<Result> {
    if (this.#closed) throw platformError('METADATA_UNAVAILABLE', 'the metadata store is closed');
    try {
      return await this.#database.transaction(() => {
        for (const leaseId of this.#expiredLeases()) this.#endLease(leaseId);
        return work();
      });
    } catch (error) {
      throw platformError('METADATA_UNAVAILABLE', 'the metadata store refused a change; its outcome is unknown', { cause: error });
    }
  }

  #read<Result>(work: () => Result): Result {
    if (this.#closed) throw platformError('METADATA_UNAVAILABLE', 'the metadata store is closed');
    return work();
  }
}
