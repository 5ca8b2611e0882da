import { assert } from '../../src/base/index.js';
import {
  type OrderedStore,
  platformError,
  type ScanRange,
  type StoreEntry,
  type StoreRoom,
  type StoreWrite,
} from '../../src/platform/index.js';
import type { SimProcess } from '../world/SimProcess.js';
import type { SimRandom } from '../world/SimRandom.js';
import type { SimWorld } from '../world/SimWorld.js';
import type { SimDisk } from './SimDisk.js';

interface Unsynced {
  readonly writes: readonly StoreWrite[];
}

/**
 * An ordered store over a simulated disk: a commit is durable, visible and acknowledged after a virtual fsync, in call order. A crash
 * keeps some first part of the commits under way, whole ones only, none of which was acknowledged.
 */
export class SimOrderedStore implements OrderedStore {
  readonly engineName = 'simulated';
  readonly keyBytesMax = 1978;
  readonly #world: SimWorld;
  readonly #process: SimProcess;
  readonly #random: SimRandom;
  readonly #disk: SimDisk;
  readonly #fsyncMs: { readonly min: number; readonly max: number };
  readonly #unsynced: Unsynced[] = [];
  #syncedAtMs = 0;
  #isClosed = false;

  constructor(parts: {
    readonly world: SimWorld;
    readonly process: SimProcess;
    readonly random: SimRandom;
    readonly disk: SimDisk;
    readonly fsyncMs: { readonly min: number; readonly max: number };
  }) {
    this.#world = parts.world;
    this.#process = parts.process;
    this.#random = parts.random;
    this.#disk = parts.disk;
    this.#fsyncMs = parts.fsyncMs;
  }

  /** Commits whose fsync is under way. */
  get unsyncedCount(): number {
    return this.#unsynced.length;
  }

  get(key: Uint8Array): Uint8Array | undefined {
    this.#demandOpen();
    return this.#disk.get(key);
  }

  scan(range: ScanRange): StoreEntry[] {
    this.#demandOpen();
    return this.#disk.scan(range);
  }

  get isFull(): boolean {
    return this.#disk.isFull;
  }

  readonly shortage = undefined;

  refreshRoom(): void {
    this.#demandOpen();
  }

  async commit(writes: readonly StoreWrite[], room: StoreRoom = 'ordinary'): Promise<void> {
    this.#demandOpen();
    for (const { key } of writes) {
      assert(key.length > 0 && key.length <= this.keyBytesMax, 'a store key is 1…1978 bytes', { bytes: key.length });
    }
    const { name } = this.#process;
    const isRefused = this.#disk.isFull && room === 'ordinary';
    const batch: Unsynced = { writes };
    if (!isRefused) this.#unsynced.push(batch);
    await this.#fsync();
    if (isRefused) {
      this.#world.note(`store ${name} full`);
      throw platformError('STORE_FULL', 'the simulated disk is full: the write was refused whole');
    }
    this.#unsynced.splice(this.#unsynced.indexOf(batch), 1);
    this.#disk.apply(writes);
    this.#world.note(`store ${name} commit ${writes.length}`, (writes.at(-1) as StoreWrite | undefined)?.key);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
  }

  /** What the disk keeps when the process dies now. */
  crash(): void {
    const kept = this.#random.below(this.#unsynced.length + 1);
    this.#world.note(`store ${this.#process.name} crash keeps ${kept} of ${this.#unsynced.length}`);
    if (this.#unsynced.length > 0) this.#world.reach(kept > 0 ? 'crash keeps an unsynced commit' : 'crash loses an unsynced commit');
    for (const { writes } of this.#unsynced.splice(0, kept)) this.#disk.apply(writes);
    this.#unsynced.length = 0;
  }

  /** Syncs end in the order they began. */
  #fsync(): Promise<void> {
    const { min, max } = this.#fsyncMs;
    const { nowMs } = this.#world;
    this.#syncedAtMs = Math.max(this.#syncedAtMs, nowMs + this.#random.between(min, max));
    return new Promise((resolve) => {
      this.#world.schedule({ delayMs: this.#syncedAtMs - nowMs, owner: this.#process, run: resolve });
    });
  }

  #demandOpen(): void {
    if (this.#isClosed) throw platformError('STORE_CLOSED', 'the store is closed: the shard is stopping');
  }
}
