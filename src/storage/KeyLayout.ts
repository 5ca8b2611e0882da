import { concatBytes, utf8 } from '../base/index.js';
import type { Timestamp } from './Timestamp.js';

const tag = { current: 0x63, history: 0x68, meta: 0x6d, outcome: 0x6f, prepared: 0x70 } as const;
const timestampMax = 2 ** 53 - 1;

const u32 = (value: number): Uint8Array => {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, value);
  return bytes;
};

const u64 = (value: number): Uint8Array => {
  const bytes = new Uint8Array(8);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, Math.floor(value / 2 ** 32));
  view.setUint32(4, value >>> 0);
  return bytes;
};

const readU64 = (bytes: Uint8Array, offset: number): number => {
  const view = new DataView(bytes.buffer, bytes.byteOffset + offset, 8);
  return view.getUint32(0) * 2 ** 32 + view.getUint32(4);
};

const prefix = (kind: number, collection: number): Uint8Array => concatBytes([Uint8Array.of(kind), u32(collection)]);

/**
 * Bytes of the ordered store, format 1:
 *
 *     c collection(u32) key                    → commit timestamp(u64) flag document   newest committed version
 *     h collection(u32) key 00 ~timestamp(u64) → flag document                         older versions, newest first
 *     p transaction id                         → prepared transaction (JSON)
 *     o transaction id                         → outcome of a transaction (JSON)
 *     m name                                   → small records of the store itself
 *
 * Document keys never hold a zero byte (DocumentKey), so one ends the key in `h`. Flag 1 = removed.
 */
export const keyLayout = {
  current: (collection: number, key: string): Uint8Array => concatBytes([prefix(tag.current, collection), utf8.encode(key)]),
  currentStart: (collection: number): Uint8Array => prefix(tag.current, collection),
  currentEnd: (collection: number): Uint8Array => prefix(tag.current, collection + 1),
  /** The first key after `key` in its collection. */
  currentAfter: (collection: number, key: string): Uint8Array =>
    concatBytes([prefix(tag.current, collection), utf8.encode(key), Uint8Array.of(0)]),
  keyOfCurrent: (bytes: Uint8Array): string => utf8.decode(bytes.subarray(5)),
  collectionOf: (bytes: Uint8Array): number => new DataView(bytes.buffer, bytes.byteOffset + 1, 4).getUint32(0),

  history: (collection: number, key: string, timestamp: Timestamp): Uint8Array =>
    concatBytes([prefix(tag.history, collection), utf8.encode(key), Uint8Array.of(0), u64(timestampMax - timestamp)]),
  historyEnd: (collection: number, key: string): Uint8Array =>
    concatBytes([prefix(tag.history, collection), utf8.encode(key), Uint8Array.of(1)]),
  timestampOfHistory: (bytes: Uint8Array): Timestamp => (timestampMax - readU64(bytes, bytes.length - 8)) as Timestamp,
  keyOfHistory: (bytes: Uint8Array): string => utf8.decode(bytes.subarray(5, bytes.length - 9)),

  all: (kind: keyof typeof tag): { readonly from: Uint8Array; readonly to: Uint8Array } => ({
    from: Uint8Array.of(tag[kind]),
    to: Uint8Array.of(tag[kind] + 1),
  }),
  collection: (kind: 'current' | 'history', collection: number): { readonly from: Uint8Array; readonly to: Uint8Array } => ({
    from: prefix(tag[kind], collection),
    to: prefix(tag[kind], collection + 1),
  }),
  prepared: (transactionId: string): Uint8Array => concatBytes([Uint8Array.of(tag.prepared), utf8.encode(transactionId)]),
  outcome: (transactionId: string): Uint8Array => concatBytes([Uint8Array.of(tag.outcome), utf8.encode(transactionId)]),
  meta: (name: string): Uint8Array => concatBytes([Uint8Array.of(tag.meta), utf8.encode(name)]),
  nameOf: (bytes: Uint8Array): string => utf8.decode(bytes.subarray(1)),
};

/** Value of a `c` row. `document` undefined = removed. */
export interface CurrentVersion {
  readonly timestamp: Timestamp;
  readonly document: Uint8Array | undefined;
}

const flagged = (document: Uint8Array | undefined): Uint8Array =>
  document === undefined ? Uint8Array.of(1) : concatBytes([Uint8Array.of(0), document]);

const unflagged = (bytes: Uint8Array, offset: number): Uint8Array | undefined =>
  bytes[offset] === 1 ? undefined : bytes.subarray(offset + 1);

/** Values of `c` and `h` rows. */
export const versionCodec = {
  encodeCurrent: (version: CurrentVersion): Uint8Array => concatBytes([u64(version.timestamp), flagged(version.document)]),
  decodeCurrent: (bytes: Uint8Array): CurrentVersion => ({
    timestamp: readU64(bytes, 0) as Timestamp,
    document: unflagged(bytes, 8),
  }),
  encodeHistory: flagged,
  decodeHistory: (bytes: Uint8Array): Uint8Array | undefined => unflagged(bytes, 0),
};
