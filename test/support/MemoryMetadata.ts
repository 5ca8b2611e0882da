import type { MetadataChange, MetadataEntry, MetadataStore } from '../../src/platform/index.js';

type Transaction = Parameters<MetadataStore['transact']>[0];

/** A metadata store in memory. Leases end only by `revokeLease`; nothing is watched. `fail` makes every call reject. */
export class MemoryMetadata implements MetadataStore {
  readonly #entries = new Map<string, MetadataEntry & { readonly leaseId: string | undefined }>();
  #revision = 0;
  #leases = 0;
  fail: unknown;

  async read(key: string): Promise<MetadataEntry | undefined> {
    this.#check();
    return this.#entries.get(key);
  }

  async list(prefix: string): Promise<readonly MetadataEntry[]> {
    this.#check();
    const found = [...this.#entries.values()].filter(({ key }) => key.startsWith(prefix));
    return found.sort((left, right) => (left.key < right.key ? -1 : 1));
  }

  async transact({ conditions, operations }: Transaction): Promise<{ readonly committed: boolean; readonly revision: number }> {
    this.#check();
    const committed = conditions.every(({ key, revision }) => (this.#entries.get(key)?.revision ?? 0) === revision);
    if (!committed) return { committed, revision: this.#revision };
    this.#revision++;
    for (const operation of operations) {
      const { key } = operation;
      if (operation.kind === 'delete') this.#entries.delete(key);
      else this.#entries.set(key, { key, value: operation.value, revision: this.#revision, leaseId: operation.leaseId });
    }
    return { committed, revision: this.#revision };
  }

  async grantLease(): Promise<string> {
    this.#check();
    return `lease-${this.#leases++}`;
  }

  async renewLease(): Promise<boolean> {
    this.#check();
    return true;
  }

  async revokeLease(leaseId: string): Promise<void> {
    for (const [key, entry] of this.#entries) if (entry.leaseId === leaseId) this.#entries.delete(key);
  }

  async revision(): Promise<number> {
    return this.#revision;
  }

  async *watch(): AsyncGenerator<MetadataChange, void, void> {}

  async close(): Promise<void> {}

  #check(): void {
    if (this.fail !== undefined) throw this.fail;
  }
}
