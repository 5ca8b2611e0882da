import { assert } from '../base/index.js';
import { type AdapterIdentity, adapterKey, type LoadedAdapter, platformError } from '../platform/index.js';

interface Entry {
  readonly adapter: LoadedAdapter;
  users: number;
  /** Set once the adapter is to go; called when its last user has left. */
  release: (() => void) | undefined;
}

/**
 * The adapters of one engine by digest and scale, and how many requests use each (R21). An adapter is immutable for the life of a request:
 * one that is to be unloaded takes no new users and leaves with its last one. Several scales of one file come and go by themselves; the
 * file is needed while any of them is here.
 */
export class AdapterRegistry {
  readonly #entries = new Map<string, Entry>();

  /** Counts an adapter in whose file the model has; the same once more is the same. Errors: ADAPTER_IN_USE (it is being unloaded). */
  add(adapter: LoadedAdapter): LoadedAdapter {
    const key = adapterKey(adapter);
    const known = this.#entries.get(key);
    if (known?.release !== undefined)
      throw platformError('ADAPTER_IN_USE', `adapter ${key} is being unloaded`, { data: { adapterDigest: adapter.digest } });
    if (known !== undefined) return known.adapter;
    this.#entries.set(key, { adapter, users: 0, release: undefined });
    return adapter;
  }

  /** The adapter of a key that is in use, also of one that is to go. */
  identityOf(key: string): AdapterIdentity {
    return this.#inUse(key).adapter;
  }

  /** Whether some scale of the file is here, also one that is to go. */
  needsFile(digest: string): boolean {
    return [...this.#entries.values()].some(({ adapter }) => adapter.digest === digest);
  }

  list(): readonly LoadedAdapter[] {
    return [...this.#entries.values()].filter(({ release }) => release === undefined).map(({ adapter }) => adapter);
  }

  /** Counts a request in. Errors: ADAPTER_UNKNOWN. */
  acquire(key: string): void {
    this.#staying(key).users++;
  }

  release(key: string): void {
    const entry = this.#inUse(key);
    assert(entry.users > 0, 'an adapter in use has users', { key });
    entry.users--;
    this.#leaveWhenUnused(entry);
  }

  /** Takes the adapter out once nobody uses it. Errors: ADAPTER_UNKNOWN. */
  async remove(adapter: AdapterIdentity): Promise<void> {
    const entry = this.#staying(adapterKey(adapter));
    await new Promise<void>((resolve) => {
      entry.release = resolve;
      this.#leaveWhenUnused(entry);
    });
  }

  #staying(key: string): Entry {
    const entry = this.#entries.get(key);
    if (entry !== undefined && entry.release === undefined) return entry;
    const digest = key.slice(0, key.indexOf('@'));
    throw platformError('ADAPTER_UNKNOWN', `no adapter ${key} is loaded`, { data: { adapterDigest: digest } });
  }

  #inUse(key: string): Entry {
    const entry = this.#entries.get(key);
    assert(entry !== undefined, 'an adapter in use is loaded', { key });
    return entry;
  }

  #leaveWhenUnused({ users, release, adapter }: Entry): void {
    if (users > 0 || release === undefined) return;
    this.#entries.delete(adapterKey(adapter));
    release();
  }
}
