import { xxh64 } from '../base/index.js';
import { platformError } from './errors.js';
import type { OrderedStore, ScanRange, StoreEntry, StoreRoom, StoreShortage, StoreWrite } from './OrderedStore.js';

const checksumBytes = 8;

/**
 * An ordered store whose rows carry a checksum of their key and value, checked at every read: bytes that changed on the disk by
 * themselves, or came to stand under another key, are STORE_DAMAGED and never an answer. Eight bytes a row (xxHash64, big-endian, after
 * the value; the key's own hash is its seed).
 */
export class ChecksummedStore implements OrderedStore {
  readonly engineName: string;
  readonly keyBytesMax: number;
  readonly #store: OrderedStore;

  constructor(store: OrderedStore) {
    this.#store = store;
    this.engineName = store.engineName;
    this.keyBytesMax = store.keyBytesMax;
  }

  get(key: Uint8Array): Uint8Array | undefined {
    const stored = this.#store.get(key);
    return stored && checked(key, stored);
  }

  scan(range: ScanRange): StoreEntry[] {
    return this.#store.scan(range).map(({ key, value }) => ({ key, value: checked(key, value) }));
  }

  get isFull(): boolean {
    return this.#store.isFull;
  }

  get shortage(): StoreShortage | undefined {
    return this.#store.shortage;
  }

  refreshRoom(): void {
    this.#store.refreshRoom();
  }

  commit(writes: readonly StoreWrite[], room?: StoreRoom): Promise<void> {
    const summed = writes.map((write) => (write.kind === 'put' ? { ...write, value: withChecksum(write) } : write));
    return this.#store.commit(summed, room);
  }

  close(): Promise<void> {
    return this.#store.close();
  }
}

const checksumOf = (key: Uint8Array, value: Uint8Array): bigint => xxh64(value, xxh64(key));

const withChecksum = ({ key, value }: StoreEntry): Uint8Array => {
  const stored = new Uint8Array(value.length + checksumBytes);
  stored.set(value);
  new DataView(stored.buffer).setBigUint64(value.length, checksumOf(key, value));
  return stored;
};

const checked = (key: Uint8Array, stored: Uint8Array): Uint8Array => {
  const bytes = stored.length - checksumBytes;
  if (bytes >= 0) {
    const value = stored.subarray(0, bytes);
    const sum = new DataView(stored.buffer, stored.byteOffset + bytes, checksumBytes).getBigUint64(0);
    if (sum === checksumOf(key, value)) return value;
  }
  throw platformError('STORE_DAMAGED', 'a stored row is not what was written: its checksum does not fit', {
    data: { rowKind: key[0] ?? 0, bytes: stored.length },
  });
};
