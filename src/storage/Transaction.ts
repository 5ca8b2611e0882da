import type { JsonValue } from '../base/index.js';
import type { CollectionRef } from './CollectionRef.js';
import { checkDocumentKey } from './checkDocumentKey.js';
import { documentCodec } from './documentCodec.js';
import { storageError } from './errors.js';
import type { HybridLogicalClock } from './HybridLogicalClock.js';
import { type MergeOptions, mergeDocuments } from './mergeDocuments.js';
import type { StorageOptions } from './options.js';
import { documentName, ReadSet } from './ReadSet.js';
import { revisionOf } from './revisionOf.js';
import type { StoredDocument } from './StoredDocument.js';
import type { Timestamp } from './Timestamp.js';
import type { VersionReader } from './VersionReader.js';

type Attributes = { readonly [attribute: string]: JsonValue };

/** A buffered write; `document` undefined removes. */
export interface BufferedWrite {
  readonly collection: number;
  readonly key: string;
  readonly document: Uint8Array | undefined;
}

/** What a write did: ArangoDB's `NEW` and `OLD`. A new document is decoded when it is asked for: few ask, and a long one costs more to read than to write. */
export interface WriteResult {
  readonly new: StoredDocument | undefined;
  readonly old: StoredDocument | undefined;
}

/** What a transaction is about to read of a collection. */
export type ReadTarget = { readonly keys: readonly string[] } | { readonly afterKey: string | undefined };

interface ScanRange {
  readonly afterKey: string | undefined;
  readonly documentsMax: number;
  readonly bytesMax: number;
}

export interface WriteCondition {
  /** The document's present revision must be this (REVISION_MISMATCH). */
  readonly revision?: string | undefined;
}

/**
 * A transaction on one shard's documents: reads its snapshot and its own writes, buffers writes, changes nothing until DocumentStore
 * commits it. Synchronous; everything read is recorded for validation. Errors: DOCUMENT_NOT_FOUND, UNIQUE_CONSTRAINT_VIOLATED,
 * REVISION_MISMATCH, DOCUMENT_KEY_BAD, DOCUMENT_TOO_LARGE, TRANSACTION_LIMIT; after one of them the transaction may go on.
 * SNAPSHOT_TOO_OLD once the versions it reads are no longer kept: it is over then.
 */
export class Transaction {
  readonly id: string;
  readonly readTimestamp: Timestamp;
  readonly reads = new ReadSet();
  readonly #writes = new Map<string, BufferedWrite>();
  readonly #reader: VersionReader;
  readonly #clock: HybridLogicalClock;
  readonly #options: StorageOptions;
  readonly #horizon: () => Timestamp;
  readonly #undecided: (concerns: (name: string) => boolean) => Promise<void>[];
  readonly #whenFree: (blockers: () => Promise<void>[], signal: AbortSignal) => Promise<void>;

  constructor(parts: {
    readonly id: string;
    readonly readTimestamp: Timestamp;
    readonly reader: VersionReader;
    readonly clock: HybridLogicalClock;
    readonly options: StorageOptions;
    /** Snapshots before it cannot be read any more. */
    readonly horizon: () => Timestamp;
    /** Prepared transactions that may belong to the snapshot and write what is asked for. */
    readonly undecided: (concerns: (name: string) => boolean) => Promise<void>[];
    /** Waits until `blockers` gives none. Error TRANSACTION_IN_DOUBT when that takes too long. */
    readonly whenFree: (blockers: () => Promise<void>[], signal: AbortSignal) => Promise<void>;
  }) {
    this.id = parts.id;
    this.readTimestamp = parts.readTimestamp;
    this.#reader = parts.reader;
    this.#clock = parts.clock;
    this.#options = parts.options;
    this.#horizon = parts.horizon;
    this.#undecided = parts.undecided;
    this.#whenFree = parts.whenFree;
  }

  /**
   * Waits until it is known whether what is about to be read, keys or the range after one, was written by transactions that are prepared
   * and belong to the snapshot. Awaited before reads and writes of these keys; without it they throw rather than guess.
   * Errors: TRANSACTION_IN_DOUBT after `lockWaitMsMax`, and the signal's.
   */
  async ready(collection: CollectionRef, what: ReadTarget, signal: AbortSignal): Promise<void> {
    const concerns = concernsOf(collection.id, what);
    if (this.#undecided(concerns).length > 0) await this.#whenFree(() => this.#undecided(concerns), signal);
  }

  get writes(): ReadonlyMap<string, BufferedWrite> {
    return this.#writes;
  }

  get(collection: CollectionRef, key: string): StoredDocument | undefined {
    this.#checkSnapshot();
    this.reads.addKey(collection.id, key);
    this.#checkReads();
    this.#checkDecided(collection.id, { keys: [key] });
    const own = this.#writes.get(documentName(collection.id, key));
    const bytes = own ? own.document : this.#reader.read(collection.id, key, this.readTimestamp);
    return bytes && documentCodec.decode(collection, bytes);
  }

  /**
   * Documents in key order after `afterKey` (undefined = from the start). At most about `documentsMax` or `bytesMax` a call: go on from `lastKey`
   * until it is undefined.
   */
  scan(
    collection: CollectionRef,
    range: ScanRange,
  ): { readonly documents: readonly StoredDocument[]; readonly lastKey: string | undefined } {
    const { found, keys, lastKey } = this.#found(collection, range);
    return { documents: keys.map((key) => documentCodec.decode(collection, found.get(key) as Uint8Array)), lastKey };
  }

  /** As `scan`, of what is there the keys alone: no document is decoded. */
  keys(collection: CollectionRef, range: ScanRange): { readonly keys: readonly string[]; readonly lastKey: string | undefined } {
    const { keys, lastKey } = this.#found(collection, range);
    return { keys, lastKey };
  }

  #found(
    collection: CollectionRef,
    range: ScanRange,
  ): { readonly found: ReadonlyMap<string, Uint8Array>; readonly keys: readonly string[]; readonly lastKey: string | undefined } {
    this.#checkSnapshot();
    this.reads.addRange(collection.id, range.afterKey);
    this.#checkDecided(collection.id, range);
    const chunk = this.#reader.scan(
      collection.id,
      range.afterKey,
      { entriesMax: range.documentsMax, bytesMax: range.bytesMax },
      this.readTimestamp,
    );
    const found = new Map(chunk.versions.map(({ key, document }) => [key, document] as const));
    for (const write of this.#writesOf(collection.id, range.afterKey, chunk.lastKey)) {
      if (write.document === undefined) found.delete(write.key);
      else found.set(write.key, write.document);
    }
    const keys = [...found.keys()].sort((left, right) => (left < right ? -1 : 1));
    return { found, keys, lastKey: chunk.lastKey };
  }

  /** `attributes._key` is the key; the caller has chosen one. */
  insert(collection: CollectionRef, attributes: Attributes): WriteResult {
    const key = checkDocumentKey(attributes['_key']);
    if (this.get(collection, key)) {
      throw storageError('UNIQUE_CONSTRAINT_VIOLATED', `unique constraint violated: document ${collection.name}/${key} exists already`);
    }
    return this.#put(collection, key, { attributes, old: undefined });
  }

  replace(collection: CollectionRef, key: string, attributes: Attributes, condition: WriteCondition = {}): WriteResult {
    const old = this.#present(collection, key, condition);
    return this.#put(collection, key, { attributes: keepEnds(old, attributes), old });
  }

  update(collection: CollectionRef, key: string, patch: Attributes, merge: MergeOptions, condition: WriteCondition = {}): WriteResult {
    const old = this.#present(collection, key, condition);
    return this.#put(collection, key, { attributes: mergeDocuments(old, patch, merge), old });
  }

  remove(collection: CollectionRef, key: string, condition: WriteCondition = {}): WriteResult {
    const old = this.#present(collection, key, condition);
    this.#buffer({ collection: collection.id, key, document: undefined });
    return { new: undefined, old };
  }

  #present(collection: CollectionRef, key: string, condition: WriteCondition): StoredDocument {
    const old = this.get(collection, checkDocumentKey(key));
    if (!old) throw storageError('DOCUMENT_NOT_FOUND', `document ${collection.name}/${key} not found`);
    if (condition.revision !== undefined && condition.revision !== old._rev) {
      const data = { _key: key, _id: old._id, _rev: old._rev };
      throw storageError('REVISION_MISMATCH', `document ${collection.name}/${key} has another revision than the one given`, { data });
    }
    return old;
  }

  #put(
    collection: CollectionRef,
    key: string,
    { attributes, old }: { readonly attributes: Attributes; readonly old: StoredDocument | undefined },
  ): WriteResult {
    checkEdge(collection, attributes);
    const system = { _key: key, _rev: revisionOf(this.#clock.now()) };
    const user = Object.entries(attributes).filter(([name]) => name !== '_key' && name !== '_rev' && name !== '_id');
    const bytes = documentCodec.encode(Object.fromEntries([...Object.entries(system), ...user]), this.#options.documentBytesMax);
    this.#buffer({ collection: collection.id, key, document: bytes });
    let decoded: StoredDocument | undefined;
    return {
      get new() {
        decoded ??= documentCodec.decode(collection, bytes);
        return decoded;
      },
      old,
    };
  }

  #buffer(write: BufferedWrite): void {
    const name = documentName(write.collection, write.key);
    if (this.#writes.has(name) || this.#writes.size < this.#options.transactionWritesMax) {
      this.#writes.set(name, write);
      return;
    }
    throw storageError('TRANSACTION_LIMIT', `a transaction may write ${this.#options.transactionWritesMax} documents`);
  }

  #checkSnapshot(): void {
    if (this.readTimestamp >= this.#horizon()) return;
    throw storageError('SNAPSHOT_TOO_OLD', 'the transaction lived longer than the versions it reads are kept');
  }

  #checkDecided(collection: number, what: ReadTarget): void {
    if (this.#undecided(concernsOf(collection, what)).length === 0) return;
    throw storageError('TRANSACTION_IN_DOUBT', 'a document that is read is part of a transaction whose outcome is not known yet');
  }

  #checkReads(): void {
    if (this.reads.size <= this.#options.transactionReadsMax) return;
    throw storageError('TRANSACTION_LIMIT', `a transaction may read ${this.#options.transactionReadsMax} keys and ranges`);
  }

  *#writesOf(collection: number, after: string | undefined, last: string | undefined): Iterable<BufferedWrite> {
    for (const write of this.#writes.values()) {
      if (write.collection !== collection) continue;
      if ((after === undefined || write.key > after) && (last === undefined || write.key <= last)) yield write;
    }
  }
}

const concernsOf = (collection: number, what: ReadTarget): ((name: string) => boolean) => {
  if ('keys' in what) {
    const names = new Set(what.keys.map((key) => documentName(collection, key)));
    return (name) => names.has(name);
  }
  const reads = new ReadSet({ keys: [], ranges: [{ collection, after: what.afterKey }] });
  return (name) => reads.covers(name);
};

const isDocumentId = (value: JsonValue | undefined): boolean => typeof value === 'string' && /^[^/]+\/[^/]+$/.test(value);

const checkEdge = (collection: CollectionRef, attributes: Attributes): void => {
  if (collection.kind === 'document' || (isDocumentId(attributes['_from']) && isDocumentId(attributes['_to']))) return;
  throw storageError('EDGE_ATTRIBUTE_INVALID', `edge collection ${collection.name}: _from and _to must name documents as collection/key`);
};

/** REPLACE keeps an edge's ends unless new ones are given. */
const keepEnds = (old: StoredDocument, attributes: Attributes): Attributes =>
  old['_from'] === undefined
    ? attributes
    : Object.fromEntries(Object.entries({ _from: old['_from'], _to: old['_to'] ?? null }).concat(Object.entries(attributes)));
