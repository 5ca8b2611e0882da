import type { Timestamp } from '../../storage/index.js';

/**
 * Rows that somebody wrote while a job runs, by the newest write of each. Beyond `keysMax` it no longer knows which, only that all are to
 * be looked at again.
 */
export class ChangedKeys {
  readonly #keysMax: number;
  #keys = new Map<string, Timestamp | undefined>();
  #lostCount = false;

  constructor(options: { readonly keysMax: number }) {
    this.#keysMax = options.keysMax;
  }

  get size(): number {
    return this.#lostCount ? Number.POSITIVE_INFINITY : this.#keys.size;
  }

  add(key: string, writtenAt?: Timestamp): void {
    if (this.#lostCount) return;
    this.#keys.set(key, writtenAt);
    if (this.#keys.size <= this.#keysMax) return;
    this.#lostCount = true;
    this.#keys.clear();
  }

  /** The job's own write of this moment: nothing to look at, unless somebody has written the row since. */
  settle(key: string, writtenAt: Timestamp): void {
    if (this.#keys.get(key) === writtenAt) this.#keys.delete(key);
  }

  /** All of them, which are then forgotten; undefined = any row may have changed. */
  take(): readonly string[] | undefined {
    const keys = this.#lostCount ? undefined : [...this.#keys.keys()];
    this.#keys = new Map();
    this.#lostCount = false;
    return keys;
  }
}
