import type { OrderedStore, StoreEntry } from '../platform/index.js';
import { keyLayout, versionCodec } from './KeyLayout.js';
import type { Timestamp } from './Timestamp.js';

export interface DocumentVersion {
  readonly key: string;
  readonly document: Uint8Array;
}

/** Reads the version of a document that was current at a timestamp, from the newest row or from history. Owns nothing. */
export class VersionReader {
  readonly #store: OrderedStore;

  constructor(options: { readonly store: OrderedStore }) {
    this.#store = options.store;
  }

  read(collection: number, key: string, at: Timestamp): Uint8Array | undefined {
    const bytes = this.#store.get(keyLayout.current(collection, key));
    return bytes && this.#versionAt(collection, key, bytes, at);
  }

  /** Versions in key order after `after`; `lastKey` undefined = the collection's end is reached. */
  scan(
    collection: number,
    after: string | undefined,
    limits: { readonly entriesMax: number; readonly bytesMax: number },
    at: Timestamp,
  ): { readonly versions: readonly DocumentVersion[]; readonly lastKey: string | undefined } {
    const from = after === undefined ? keyLayout.currentStart(collection) : keyLayout.currentAfter(collection, after);
    const entries = this.#store.scan({
      from,
      to: keyLayout.currentEnd(collection),
      entriesMax: limits.entriesMax,
      valueBytesMax: limits.bytesMax,
    });
    const versions = entries.flatMap((entry) => this.#visible(collection, entry, at));
    const bytes = entries.reduce((sum, { value }) => sum + value.length, 0);
    const isCut = entries.length >= limits.entriesMax || bytes >= limits.bytesMax;
    const last = isCut ? entries.at(-1) : undefined;
    return { versions, lastKey: last && keyLayout.keyOfCurrent(last.key) };
  }

  #visible(collection: number, entry: StoreEntry, at: Timestamp): DocumentVersion[] {
    const key = keyLayout.keyOfCurrent(entry.key);
    const document = this.#versionAt(collection, key, entry.value, at);
    return document ? [{ key, document }] : [];
  }

  #versionAt(collection: number, key: string, current: Uint8Array, at: Timestamp): Uint8Array | undefined {
    const version = versionCodec.decodeCurrent(current);
    if (version.timestamp <= at) return version.document;
    const [older] = this.#store.scan({
      from: keyLayout.history(collection, key, at),
      to: keyLayout.historyEnd(collection, key),
      entriesMax: 1,
    });
    return older && versionCodec.decodeHistory(older.value);
  }
}
