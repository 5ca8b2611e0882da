import { assert } from '../base/index.js';
import { type LoadedAdapter, platformError } from '../platform/index.js';

interface Entry {
  readonly adapter: LoadedAdapter;
  users: number;
  /** Set once the adapter is to go; called when its last user has left. */
  release: (() => void) | undefined;
}

/**
 * The adapters of one engine by digest, and how many requests use each (R21). An adapter is immutable for the life of a request: one
 * that is to be unloaded takes no new users and leaves with its last one.
 */
export class AdapterRegistry {
  readonly #entries = new Map<string, Entry>();

  add(adapter: LoadedAdapter): void {
    this.#entries.set(adapter.digest, { adapter, users: 0, release: undefined });
  }

  /** The adapter if it is loaded and stays. */
  get(digest: string): LoadedAdapter | undefined {
    const entry = this.#entries.get(digest);
    return entry?.release === undefined ? entry?.adapter : undefined;
  }

  /** Scale of a loaded adapter, also of one that is to go. */
  scaleOf(digest: string): number {
    const entry = this.#entries.get(digest);
    assert(entry !== undefined, 'an adapter in use is loaded');
    return entry.adapter.scale;
  }

  has(digest: string): boolean {
    return this.#entries.has(digest);
  }

  list(): readonly LoadedAdapter[] {
    return [...this.#entries.values()].filter(({ release }) => release === undefined).map(({ adapter }) => adapter);
  }

  /** Counts a request in. Errors: ADAPTER_UNKNOWN. */
  acquire(digest: string): void {
    const entry = this.#entries.get(digest);
    if (entry === undefined || entry.release !== undefined)
      throw platformError('ADAPTER_UNKNOWN', `no adapter ${digest} is loaded`, { data: { adapterDigest: digest } });
    entry.users++;
  }

  release(digest: string): void {
    const entry = this.#entries.get(digest);
    assert(entry !== undefined && entry.users > 0, 'an adapter in use is loaded');
    entry.users--;
    this.#leaveWhenUnused(entry);
  }

  /** Takes the adapter out once nobody uses it. Errors: ADAPTER_UNKNOWN. */
  remove(digest: string): Promise<void> {
    const entry = this.#entries.get(digest);
    if (entry === undefined || entry.release !== undefined)
      return Promise.reject(platformError('ADAPTER_UNKNOWN', `no adapter ${digest} is loaded`, { data: { adapterDigest: digest } }));
    return new Promise((resolve) => {
      entry.release = resolve;
      this.#leaveWhenUnused(entry);
    });
  }

  #leaveWhenUnused({ users, release, adapter }: Entry): void {
    if (users > 0 || release === undefined) return;
    this.#entries.delete(adapter.digest);
    release();
  }
}
