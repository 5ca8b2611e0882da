import type { MetadataChange, MetadataCondition, MetadataEntry, MetadataOperation } from '../../src/platform/index.js';
import { platformError } from '../../src/platform/index.js';
import type { SimWorld } from '../world/SimWorld.js';

interface Lease {
  readonly ttlMs: number;
  expiresAtMs: number;
}

const changesKeptMax = 10_000;

/** The cluster's metadata, one copy that no crash of a shard touches. Every call is one step: what it answers is linearizable. */
export class SimMetadataServer {
  readonly #world: SimWorld;
  readonly #entries = new Map<string, MetadataEntry & { readonly leaseId: string | undefined }>();
  readonly #leases = new Map<string, Lease>();
  readonly #changes: MetadataChange[] = [];
  readonly #watchers = new Set<() => void>();
  #revision = 0;
  #leaseNumber = 0;

  constructor(world: SimWorld) {
    this.#world = world;
  }

  get revision(): number {
    this.#endExpired();
    return this.#revision;
  }

  read(key: string): MetadataEntry | undefined {
    this.#endExpired();
    const entry = this.#entries.get(key);
    return entry && shown(entry);
  }

  list(prefix: string): readonly MetadataEntry[] {
    this.#endExpired();
    const found = [...this.#entries.values()].filter(({ key }) => key.startsWith(prefix)).map(shown);
    return found.sort((left, right) => (left.key < right.key ? -1 : 1));
  }

  transact(request: { readonly conditions: readonly MetadataCondition[]; readonly operations: readonly MetadataOperation[] }): {
    readonly committed: boolean;
    readonly revision: number;
  } {
    this.#endExpired();
    const committed = request.conditions.every(({ key, revision }) => (this.#entries.get(key)?.revision ?? 0) === revision);
    if (committed) for (const operation of request.operations) this.#apply(operation);
    return { committed, revision: this.#revision };
  }

  grantLease(ttlMs: number): string {
    const leaseId = `lease-${++this.#leaseNumber}`;
    this.#leases.set(leaseId, { ttlMs, expiresAtMs: this.#world.nowMs + ttlMs });
    this.#world.schedule({ delayMs: ttlMs, owner: undefined, run: () => this.#endExpired() });
    return leaseId;
  }

  renewLease(leaseId: string): boolean {
    this.#endExpired();
    const lease = this.#leases.get(leaseId);
    if (!lease) return false;
    lease.expiresAtMs = this.#world.nowMs + lease.ttlMs;
    this.#world.schedule({ delayMs: lease.ttlMs, owner: undefined, run: () => this.#endExpired() });
    return true;
  }

  revokeLease(leaseId: string): void {
    this.#leases.delete(leaseId);
    for (const [key, entry] of this.#entries) if (entry.leaseId === leaseId) this.#apply({ kind: 'delete', key });
  }

  /** Changes after `revision`, oldest first. Error METADATA_COMPACTED. */
  changesAfter(revision: number): readonly MetadataChange[] {
    const first = this.#changes[0]?.revision;
    if (first !== undefined && first > revision + 1 && this.#changes.length >= changesKeptMax)
      throw platformError('METADATA_COMPACTED', 'the watched revision is no longer kept');
    return this.#changes.filter((change) => change.revision > revision);
  }

  /** Calls back after each change until the returned function is called. */
  onChange(callback: () => void): () => void {
    this.#watchers.add(callback);
    return () => this.#watchers.delete(callback);
  }

  #apply(operation: MetadataOperation): void {
    const { key } = operation;
    if (operation.kind === 'delete') {
      if (!this.#entries.delete(key)) return;
      this.#log({ kind: 'delete', key, value: '', revision: ++this.#revision });
      return;
    }
    const { value, leaseId } = operation;
    const revision = ++this.#revision;
    this.#entries.set(key, { key, value, revision, leaseId });
    this.#log({ kind: 'put', key, value, revision });
  }

  #log(change: MetadataChange): void {
    this.#changes.push(change);
    if (this.#changes.length > changesKeptMax) this.#changes.shift();
    for (const watcher of this.#watchers) watcher();
  }

  #endExpired(): void {
    for (const [leaseId, lease] of this.#leases) if (lease.expiresAtMs <= this.#world.nowMs) this.revokeLease(leaseId);
  }
}

const shown = ({ key, value, revision }: MetadataEntry): MetadataEntry => ({ key, value, revision });
