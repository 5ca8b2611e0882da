import {
  type OrderedStore,
  platformError,
  type ScanRange,
  type StoreEntry,
  type StoreRoom,
  type StoreWrite,
  withinBytes,
} from '../../src/platform/index.js';

const textOf = (bytes: Uint8Array): string => String.fromCharCode(...bytes);
const bytesOf = (text: string): Uint8Array => Uint8Array.from(text, (character) => character.charCodeAt(0));

/**
 * An ordered store in memory. As with a real one, a batch is seen only once its commit resolves; `hold` keeps commits from ending until
 * `release`, in call order, and `failNext` makes the next one fail whole. While `isFull`, ordinary commits are refused.
 */
export class MemoryStore implements OrderedStore {
  readonly engineName = 'memory';
  readonly keyBytesMax = 1978;
  readonly #rows = new Map<string, Uint8Array>();
  #held: (() => void)[] | undefined;
  #failure: unknown;
  commits = 0;
  isFull = false;
  readonly shortage = undefined;

  refreshRoom(): void {}

  get size(): number {
    return this.#rows.size;
  }

  get(key: Uint8Array): Uint8Array | undefined {
    return this.#rows.get(textOf(key))?.slice();
  }

  scan(range: ScanRange): StoreEntry[] {
    const [from, to] = [textOf(range.from), textOf(range.to)];
    const keys = [...this.#rows.keys()].filter((key) => key >= from && key < to).sort();
    if (range.reverse) keys.reverse();
    const entries = keys
      .slice(0, range.entriesMax)
      .map((key) => ({ key: bytesOf(key), value: (this.#rows.get(key) as Uint8Array).slice() }));
    return withinBytes(entries, range.valueBytesMax);
  }

  async commit(writes: readonly StoreWrite[], room: StoreRoom = 'ordinary'): Promise<void> {
    this.commits++;
    if (this.isFull && room === 'ordinary') throw platformError('STORE_FULL', 'full');
    const failure = this.#failure;
    this.#failure = undefined;
    const held = this.#held;
    await (held ? new Promise<void>((resolve) => held.push(resolve)) : Promise.resolve());
    if (failure !== undefined) throw failure;
    for (const write of writes) {
      if (write.kind === 'put') this.#rows.set(textOf(write.key), write.value.slice());
      else this.#rows.delete(textOf(write.key));
    }
  }

  failNext(error: unknown): void {
    this.#failure = error;
  }

  hold(): void {
    this.#held = [];
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const resume of held) resume();
  }

  async close(): Promise<void> {}
}
