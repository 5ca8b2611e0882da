import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { type ManualClock, SleepingClock, settle } from '../../test/support/ManualClock.js';
import { MemoryStore } from '../../test/support/MemoryStore.js';
import { platformError } from '../platform/index.js';
import type { CollectionRef } from './CollectionRef.js';
import { DocumentStore } from './DocumentStore.js';
import { storageOptions } from './options.js';
import type { StoredDocument } from './StoredDocument.js';
import type { Timestamp } from './Timestamp.js';
import type { ReadTarget, Transaction } from './Transaction.js';

const { signal } = new AbortController();
const books: CollectionRef = { database: '_system', name: 'books', id: 100, kind: 'document' };
const links: CollectionRef = { database: '_system', name: 'links', id: 101, kind: 'edge' };
const options = storageOptions.parse({});

let clock: ManualClock;
let store: MemoryStore;
let documents: DocumentStore;
let transactions = 0;

const open = (changes: Partial<typeof options> = {}): DocumentStore =>
  DocumentStore.open({ store, clock, options: { ...options, ...changes } });
const begin = (readTimestamp?: Timestamp): Promise<Transaction> => documents.begin({ id: `t-${transactions++}`, readTimestamp, signal });
const commit = (transaction: Transaction) => documents.commit(transaction, null, signal);
const write = async (change: (transaction: Transaction) => void): Promise<Timestamp> => {
  const transaction = await begin();
  change(transaction);
  return commit(transaction);
};
const put = (key: string, value: number) => write((transaction) => void upsert(transaction, key, value));
const upsert = (transaction: Transaction, key: string, value: number): void => {
  if (transaction.get(books, key)) transaction.replace(books, key, { value });
  else transaction.insert(books, { _key: key, value });
};
const figureOf = (document: StoredDocument | undefined) => document?.['value'];
const keysOf = (transaction: Transaction, documentsMax = 100): string[] => {
  const keys: string[] = [];
  let afterKey: string | undefined;
  do {
    const chunk = transaction.scan(books, { afterKey, documentsMax, bytesMax: 1e9 });
    keys.push(...chunk.documents.map(({ _key }) => _key));
    afterKey = chunk.lastKey;
  } while (afterKey !== undefined);
  return keys;
};

beforeEach(() => {
  clock = new SleepingClock();
  store = new MemoryStore();
  documents = open();
});

describe('commits of one moment', () => {
  it('lets one of two through that write the same document', async () => {
    const [left, right] = [await begin(), await begin()];
    upsert(left, 'a', 1);
    upsert(right, 'a', 2);
    const outcomes = await Promise.allSettled([commit(left), commit(right)]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    expect(outcomes[1]).toMatchObject({ reason: { code: 'WRITE_CONFLICT' } });
  });

  it('lets one of two through that waited for the same prepared transaction', async () => {
    const prepared = await begin();
    upsert(prepared, 'a', 0);
    const [left, right] = [await begin(), await begin()];
    await documents.prepare(prepared);
    for (const transaction of [left, right]) {
      upsert(transaction, 'a', 1);
      upsert(transaction, 'b', 1);
    }
    const outcomes = Promise.allSettled([commit(left), commit(right)]);
    await documents.decide(prepared.id, { kind: 'abort' });
    expect((await outcomes).map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  });

  it('does not let a commit through beside a transaction that is being prepared on the same document', async () => {
    const [left, right] = [await begin(), await begin()];
    upsert(left, 'a', 1);
    upsert(right, 'a', 2);
    const outcomes = await Promise.allSettled([commit(left), documents.prepare(right)]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  });
});

describe('reads', () => {
  it('sees the snapshot of its timestamp: older versions, and the absence before a document and after its removal', async () => {
    const before = documents.timestamps.now();
    const first = await put('a', 1);
    const second = await put('a', 2);
    const removed = await write((transaction) => void transaction.remove(books, 'a'));
    const values = [];
    for (const at of [before, first, second, removed]) values.push(figureOf((await begin(at)).get(books, 'a')));
    expect(values).toEqual([undefined, 1, 2, undefined]);
    expect(keysOf(await begin(second))).toEqual(['a']);
    expect(keysOf(await begin(removed))).toEqual([]);
    await put('a', 3);
    expect(figureOf((await begin(removed)).get(books, 'a'))).toBeUndefined();
    expect(figureOf((await begin()).get(books, 'a'))).toBe(3);
  });

  it('reads its own writes in get and in scans, chunk by chunk, in key order', async () => {
    for (const key of ['b', 'd', 'f']) await put(key, 0);
    const transaction = await begin();
    for (const key of ['a', 'c', 'g']) transaction.insert(books, { _key: key });
    transaction.remove(books, 'd');
    for (const documentsMax of [1, 2, 3, 100]) expect(keysOf(transaction, documentsMax)).toEqual(['a', 'b', 'c', 'f', 'g']);
    expect(transaction.get(books, 'd')).toBeUndefined();
    expect(keysOf(await begin())).toEqual(['b', 'd', 'f']);
  });

  it('keeps collections apart', async () => {
    await put('a', 1);
    expect((await begin()).get({ ...books, id: 102 }, 'a')).toBeUndefined();
    expect((await begin()).scan({ ...books, id: 99 }, { afterKey: undefined, documentsMax: 9, bytesMax: 1e9 }).documents).toEqual([]);
  });

  it('refuses a snapshot that is older than what is kept, at begin and in the middle of a transaction', async () => {
    const old = await put('a', 1);
    const transaction = await begin();
    await clock.advance(options.snapshotAgeMsMax + 1000);
    documents.advanceHorizon();
    await expect(begin(old)).rejects.toMatchObject({ code: 'SNAPSHOT_TOO_OLD' });
    expect(() => transaction.get(books, 'a')).toThrow(expect.objectContaining({ code: 'SNAPSHOT_TOO_OLD' }));
    expect(() => transaction.scan(books, { afterKey: undefined, documentsMax: 1, bytesMax: 1e9 })).toThrow(
      expect.objectContaining({ code: 'SNAPSHOT_TOO_OLD' }),
    );
  });

  it('a wall clock that steps back does not bring refused snapshots back', async () => {
    const old = await put('a', 1);
    await clock.advance(options.snapshotAgeMsMax + 1000);
    const horizon = documents.advanceHorizon();
    await clock.advance(-options.snapshotAgeMsMax);
    expect(documents.advanceHorizon()).toBe(horizon);
    await expect(begin(old)).rejects.toMatchObject({ code: 'SNAPSHOT_TOO_OLD' });
  });

  it('waits for a commit at or below its timestamp that is still being written', async () => {
    await put('a', 1);
    const writer = await begin();
    writer.replace(books, 'a', { value: 2 });
    store.hold();
    const committing = commit(writer);
    await settle();
    let read: number | undefined;
    const reading = begin().then((transaction) => {
      read = figureOf(transaction.get(books, 'a')) as number;
    });
    await settle();
    expect(read).toBeUndefined();
    store.release();
    await Promise.all([committing, reading]);
    expect(read).toBe(2);
  });
});

describe('writes', () => {
  it('insert, replace, update and remove answer the new and the old document', async () => {
    const transaction = await begin();
    const inserted = transaction.insert(books, { _key: 'a', x: 1, y: { z: 1 } });
    expect(inserted).toMatchObject({ new: { _key: 'a', _id: 'books/a', x: 1 }, old: undefined });
    const merge = { keepNull: true, mergeObjects: true };
    const updated = transaction.update(books, 'a', { y: { w: 2 }, _key: 'other' }, merge);
    expect(updated).toMatchObject({ new: { _key: 'a', x: 1, y: { z: 1, w: 2 } }, old: inserted.new });
    expect(String(updated.new?._rev) > String(inserted.new?._rev)).toBe(true);
    expect(transaction.replace(books, 'a', { v: 3 }).new).toEqual({ _key: 'a', _id: 'books/a', _rev: expect.any(String), v: 3 });
    expect(transaction.remove(books, 'a')).toMatchObject({ new: undefined, old: { v: 3 } });
    expect(() => transaction.remove(books, 'a')).toThrow(expect.objectContaining({ code: 'DOCUMENT_NOT_FOUND' }));
  });

  it('refuses a second document of a key, another revision, an edge without ends, and a document over the limit', async () => {
    documents = open({ documentBytesMax: 1024 });
    const transaction = await begin();
    const { new: document } = transaction.insert(books, { _key: 'a' });
    const codeOf = (change: () => void): unknown => {
      try {
        change();
        return undefined;
      } catch (error) {
        return (error as { code?: unknown }).code;
      }
    };
    expect(codeOf(() => transaction.insert(books, { _key: 'a' }))).toBe('UNIQUE_CONSTRAINT_VIOLATED');
    expect(codeOf(() => transaction.replace(books, 'a', {}, { revision: '_0' }))).toBe('REVISION_MISMATCH');
    expect(codeOf(() => transaction.replace(books, 'a', {}, { revision: document?._rev }))).toBeUndefined();
    expect(codeOf(() => transaction.insert(links, { _key: 'e', _from: 'books/a' }))).toBe('EDGE_ATTRIBUTE_INVALID');
    expect(codeOf(() => transaction.insert(links, { _key: 'e', _from: 'books/a', _to: 'books/b' }))).toBeUndefined();
    expect(transaction.replace(links, 'e', { w: 1 }).new).toMatchObject({ _from: 'books/a', _to: 'books/b', w: 1 });
    expect(codeOf(() => transaction.insert(books, { _key: 'b', text: 'x'.repeat(1024) }))).toBe('DOCUMENT_TOO_LARGE');
    expect(codeOf(() => transaction.insert(books, { _key: 'a/b' }))).toBe('DOCUMENT_KEY_BAD');
    await commit(transaction);
    expect(keysOf(await begin())).toEqual(['a']);
  });

  it('a write over the limit of a transaction is refused and not part of it', async () => {
    documents = open({ transactionWritesMax: 2 });
    const transaction = await begin();
    for (const key of ['a', 'b']) transaction.insert(books, { _key: key });
    expect(() => transaction.insert(books, { _key: 'c' })).toThrow(expect.objectContaining({ code: 'TRANSACTION_LIMIT' }));
    transaction.replace(books, 'a', { again: true });
    await commit(transaction);
    expect(keysOf(await begin())).toEqual(['a', 'b']);
  });

  it('keeps attributes named __proto__ and constructor as data through a commit', async () => {
    const attributes = JSON.parse('{"_key":"a","__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}');
    await write((transaction) => void transaction.insert(books, attributes));
    const document = (await begin()).get(books, 'a');
    expect(JSON.parse(JSON.stringify(document))).toMatchObject({ constructor: { prototype: { polluted: 1 } } });
    expect(Object.keys(document ?? {})).toContain('__proto__');
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });
});

describe('isolation (R6)', () => {
  it('refuses the second of two writers of one document; the first stays', async () => {
    await put('a', 0);
    const [first, second] = [await begin(), await begin()];
    upsert(first, 'a', 1);
    upsert(second, 'a', 2);
    await commit(first);
    await expect(commit(second)).rejects.toMatchObject({ code: 'WRITE_CONFLICT', retryable: true });
    expect(figureOf((await begin()).get(books, 'a'))).toBe(1);
  });

  it('refuses write skew: two that read both documents and write one each', async () => {
    await put('a', 1);
    await put('b', 1);
    const [first, second] = [await begin(), await begin()];
    for (const transaction of [first, second])
      expect(figureOf(transaction.get(books, 'a')) === figureOf(transaction.get(books, 'b'))).toBe(true);
    upsert(first, 'a', 0);
    upsert(second, 'b', 0);
    await commit(first);
    await expect(commit(second)).rejects.toMatchObject({ code: 'WRITE_CONFLICT' });
  });

  it('refuses a phantom: a document that appears in a range that was read, also after its last key', async () => {
    const scanned = await begin();
    expect(keysOf(scanned)).toEqual([]);
    const partly = await begin();
    partly.scan(books, { afterKey: 'm', documentsMax: 1, bytesMax: 1e9 });
    scanned.insert({ ...books, id: 200 }, { _key: 'count' });
    partly.insert({ ...books, id: 200 }, { _key: 'other' });
    await put('b', 1);
    await expect(commit(scanned)).rejects.toMatchObject({ code: 'WRITE_CONFLICT' });
    await expect(commit(partly)).resolves.toBeGreaterThan(0);
  });

  it('refuses a transaction that read the absence of a document which was inserted since', async () => {
    const [first, second] = [await begin(), await begin()];
    for (const transaction of [first, second]) transaction.insert(books, { _key: 'a' });
    await commit(first);
    await expect(commit(second)).rejects.toMatchObject({ code: 'WRITE_CONFLICT' });
  });

  it('a transaction that only reads commits whatever happened meanwhile', async () => {
    const reader = await begin();
    await put('a', 1);
    expect(reader.get(books, 'a')).toBeUndefined();
    await expect(commit(reader)).resolves.toBe(reader.readTimestamp);
  });

  it('refuses a transaction older than the commits remembered', async () => {
    documents = open({ recentCommitsMax: 2 });
    const old = await begin();
    old.insert(books, { _key: 'old' });
    for (const key of ['a', 'b', 'c', 'd']) await put(key, 1);
    await expect(commit(old)).rejects.toMatchObject({ code: 'SNAPSHOT_TOO_OLD' });
  });

  it('any interleaving of increments counts exactly the commits that succeeded, in the order of their timestamps', async () => {
    const step = fc.record({ actor: fc.nat(3), key: fc.constantFrom('a', 'b'), kind: fc.constantFrom('increment', 'remove', 'commit') });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        clock = new SleepingClock();
        store = new MemoryStore();
        documents = open();
        const model = new Model();
        for (const one of steps) await model.run(one);
        const { documents: found } = (await begin()).scan(books, { afterKey: undefined, documentsMax: 9, bytesMax: 1e9 });
        expect(found.map((one) => [one._key, figureOf(one)])).toEqual([...model.oracle].sort());
      }),
      { numRuns: 150 },
    );
  });
});

/** Actors with one open transaction each beside a Map: what a transaction sees is its snapshot of the map and its own writes. */
class Model {
  readonly oracle = new Map<string, number>();
  readonly #running = new Map<number, { transaction: Transaction; snapshot: Map<string, number>; own: Map<string, number | undefined> }>();

  async run({ actor, key, kind }: { actor: number; key: string; kind: string }): Promise<void> {
    const one = this.#running.get(actor) ?? { transaction: await begin(), snapshot: new Map(this.oracle), own: new Map() };
    this.#running.set(actor, one);
    const known = one.own.has(key) ? one.own.get(key) : one.snapshot.get(key);
    expect(figureOf(one.transaction.get(books, key))).toBe(known);
    if (kind === 'commit') await this.#commit(actor);
    else if (kind === 'increment') {
      upsert(one.transaction, key, (known ?? 0) + 1);
      one.own.set(key, (known ?? 0) + 1);
    } else if (known !== undefined) {
      one.transaction.remove(books, key);
      one.own.set(key, undefined);
    }
  }

  async #commit(actor: number): Promise<void> {
    const one = this.#running.get(actor);
    this.#running.delete(actor);
    if (!one) return;
    const error = await commit(one.transaction).then(
      () => undefined,
      (thrown: { readonly code: string }) => thrown.code,
    );
    expect([undefined, 'WRITE_CONFLICT']).toContain(error);
    if (error !== undefined) return;
    for (const [name, value] of one.own) {
      expect(this.oracle.get(name)).toBe(one.snapshot.get(name)); // nobody came between
      if (value === undefined) this.oracle.delete(name);
      else this.oracle.set(name, value);
    }
  }
}

describe('prepared transactions', () => {
  const prepare = async (key: string, value: number): Promise<{ transaction: Transaction; proposal: Timestamp }> => {
    const transaction = await begin();
    upsert(transaction, key, value);
    return { transaction, proposal: await documents.prepare(transaction) };
  };

  it('are seen only after the decision to commit, at its timestamp; a second decision changes nothing', async () => {
    const { transaction, proposal } = await prepare('a', 1);
    expect(documents.outcomeOf(transaction.id)).toEqual({ kind: 'prepared' });
    const commitTimestamp = (proposal + 4096) as Timestamp;
    await documents.decide(transaction.id, { kind: 'commit', commitTimestamp });
    await documents.decide(transaction.id, { kind: 'abort' });
    expect(documents.outcomeOf(transaction.id)).toMatchObject({ kind: 'committed', commitTimestamp });
    expect((await begin((commitTimestamp - 1) as Timestamp)).get(books, 'a')).toBeUndefined();
    expect(figureOf((await begin(commitTimestamp)).get(books, 'a'))).toBe(1);
    expect(documents.inDoubt()).toEqual([]);
  });

  it('leave nothing when aborted', async () => {
    const { transaction } = await prepare('a', 1);
    await documents.decide(transaction.id, { kind: 'abort' });
    expect(documents.outcomeOf(transaction.id)).toEqual({ kind: 'unknown' });
    expect((await begin()).get(books, 'a')).toBeUndefined();
    await put('a', 2);
  });

  it('make another prepare that meets them fail at once', async () => {
    const other = await begin();
    upsert(other, 'a', 2);
    await prepare('a', 1);
    await expect(documents.prepare(other)).rejects.toMatchObject({ code: 'WRITE_CONFLICT' });
  });

  it('make a local commit that meets them wait; it goes on after an abort and conflicts after a commit', async () => {
    for (const kind of ['abort', 'commit'] as const) {
      const local = await begin();
      upsert(local, kind, 2);
      const { transaction, proposal } = await prepare(kind, 1);
      const result = commit(local).then(
        () => 'committed',
        (error: { code: string }) => error.code,
      );
      await settle();
      await documents.decide(transaction.id, kind === 'abort' ? { kind } : { kind, commitTimestamp: proposal });
      expect(await result).toBe(kind === 'abort' ? 'committed' : 'WRITE_CONFLICT');
    }
  });

  it.each<[string, ReadTarget]>([
    ['its key', { keys: ['z', 'b'] }],
    ['a range with it', { afterKey: 'a' }],
    ['the collection', { afterKey: undefined }],
  ])('make readers of %s wait, and end them with TRANSACTION_IN_DOUBT after lockWaitMsMax', async (_, what) => {
    const { transaction, proposal } = await prepare('b', 1);
    const early = await begin((proposal - 1) as Timestamp);
    await early.ready(books, what, signal);
    expect(early.get(books, 'b')).toBeUndefined();
    const reader = await begin();
    const refused = expect(reader.ready(books, what, signal)).rejects.toMatchObject({ code: 'TRANSACTION_IN_DOUBT' });
    await clock.advance(options.lockWaitMsMax);
    await refused;
    const reading = reader.ready(books, what, signal);
    await settle();
    await documents.decide(transaction.id, { kind: 'commit', commitTimestamp: proposal });
    await reading;
    expect(figureOf(reader.get(books, 'b'))).toBe(1);
    expect(clock.timers).toBe(0);
  });

  it.each<[string, ReadTarget]>([
    ['another key', { keys: ['a', 'c'] }],
    ['a range behind it', { afterKey: 'b' }],
  ])('do not concern readers and writers of %s', async (_, what) => {
    await prepare('b', 1);
    const transaction = await begin();
    await transaction.ready(books, what, signal);
    upsert(transaction, 'c', 1);
    await commit(transaction);
    const other = await begin();
    expect(other.scan({ ...books, id: 8 }, { afterKey: undefined, documentsMax: 9, bytesMax: 1e9 }).documents).toEqual([]);
  });

  it('are never guessed about by a read that did not wait', async () => {
    await prepare('a', 1);
    const reader = await begin();
    for (const read of [
      () => reader.get(books, 'a'),
      () => reader.scan(books, { afterKey: undefined, documentsMax: 9, bytesMax: 1e9 }),
      () => upsert(reader, 'a', 2),
    ])
      expect(read).toThrowError(expect.objectContaining({ code: 'TRANSACTION_IN_DOUBT', retryable: true }));
  });

  it('hold their locks again after a restart, however many there are, and can be decided then', async () => {
    await put('b', 0);
    const pair = [await begin(), await begin()] as const;
    pair.forEach((transaction, i) => void upsert(transaction, i === 0 ? 'a' : 'b', i + 1));
    const proposals = [await documents.prepare(pair[0]), await documents.prepare(pair[1])] as const;
    documents = open({ lockWaitMsMax: 0 });
    expect([...documents.inDoubt()].sort()).toEqual(pair.map(({ id }) => id).sort());
    expect(documents.timestamps.now()).toBeGreaterThan(proposals[1]);
    const early = await begin();
    const refused = expect(early.ready(books, { keys: ['a'] }, signal)).rejects.toMatchObject({ code: 'TRANSACTION_IN_DOUBT' });
    await clock.advance(1);
    await refused;
    await documents.decide(pair[0].id, { kind: 'commit', commitTimestamp: proposals[1] });
    await documents.decide(pair[1].id, { kind: 'abort' });
    const reader = await begin();
    expect([figureOf(reader.get(books, 'a')), figureOf(reader.get(books, 'b'))]).toEqual([1, 0]);
  });

  it('hold no lock when their record could not be stored', async () => {
    const transaction = await begin();
    upsert(transaction, 'a', 1);
    store.failNext(platformError('STORE_FULL', 'full'));
    await expect(documents.prepare(transaction)).rejects.toMatchObject({ code: 'STORE_FULL' });
    expect(documents.inDoubt()).toEqual([]);
    await put('a', 2);
  });
});

describe('a full store', () => {
  const full = platformError('STORE_FULL', 'full');
  const remove = async (key: string): Promise<void> => {
    const transaction = await begin();
    transaction.remove(books, key);
    await commit(transaction);
  };

  it('refuses what adds, takes what only removes, and ends what is prepared either way', async () => {
    await put('a', 1);
    await put('b', 1);
    const [kept, dropped] = [await begin(), await begin()];
    upsert(kept, 'c', 1);
    upsert(dropped, 'd', 1);
    const proposal = await documents.prepare(kept);
    await documents.prepare(dropped);
    store.isFull = true;
    await expect(put('a', 2)).rejects.toMatchObject({ code: 'STORE_FULL' });
    const mixed = await begin();
    mixed.remove(books, 'a');
    upsert(mixed, 'e', 1);
    await expect(commit(mixed)).rejects.toMatchObject({ code: 'STORE_FULL' });
    await remove('b');
    await documents.decide(kept.id, { kind: 'commit', commitTimestamp: proposal });
    await documents.decide(dropped.id, { kind: 'abort' });
    const reader = await begin();
    expect(['a', 'b', 'c', 'd'].map((key) => reader.get(books, key) !== undefined)).toEqual([true, false, true, false]);
    expect([documents.isFull, documents.inDoubt()]).toEqual([true, []]);
  });

  it('a removal that is the first to meet the full disk is tried again with the reserve', async () => {
    await put('a', 1);
    store.failNext(full);
    await remove('a');
    expect((await begin()).get(books, 'a')).toBeUndefined();
  });

  it('keeps old versions for a shorter time, but remembers answers as long as ever', async () => {
    const ageOf = (timestamp: number): number => documents.timestamps.now() - timestamp;
    const [normal, outcomes] = [ageOf(documents.advanceHorizon()), ageOf(documents.outcomesKeptAfter())];
    store.isFull = true;
    expect(ageOf(documents.advanceHorizon())).toBeLessThan(normal / 10);
    expect(ageOf(documents.outcomesKeptAfter())).toBeGreaterThanOrEqual(outcomes);
  });
});

describe('durability and restart', () => {
  it('a commit that the store refuses leaves nothing, and the next one works', async () => {
    await put('a', 1);
    const [transaction, rows] = [await begin(), store.size];
    upsert(transaction, 'a', 2);
    store.failNext(platformError('STORE_FULL', 'full'));
    await expect(commit(transaction)).rejects.toMatchObject({ code: 'STORE_FULL' });
    expect(store.size).toBe(rows);
    expect(documents.outcomeOf(transaction.id)).toEqual({ kind: 'unknown' });
    expect(figureOf((await begin()).get(books, 'a'))).toBe(1);
    await put('a', 3);
    expect(figureOf((await begin()).get(books, 'a'))).toBe(3);
  });

  it('a commit that the store refused is no conflict for those who read what it would have written', async () => {
    const reader = await begin();
    expect(reader.get(books, 'a')).toBeUndefined();
    upsert(reader, 'b', 1);
    const failing = await begin();
    upsert(failing, 'a', 2);
    store.failNext(platformError('STORE_FULL', 'full'));
    await expect(commit(failing)).rejects.toMatchObject({ code: 'STORE_FULL' });
    await commit(reader);
  });

  it('refuses a commit before it is stored where the wall clock was set back too far, and takes it once the clock is right', async () => {
    await put('a', 1);
    clock = new SleepingClock(clock.nowMs() - options.clockAheadMsMax - 1000);
    documents = open();
    const [transaction, rows] = [await begin(), store.size];
    upsert(transaction, 'a', 2);
    await expect(commit(transaction)).rejects.toMatchObject({ code: 'CLOCK_AHEAD', retryable: true });
    await expect(documents.prepare(transaction)).rejects.toMatchObject({ code: 'CLOCK_AHEAD' });
    expect([store.size, documents.inDoubt(), figureOf((await begin()).get(books, 'a'))]).toEqual([rows, [], 1]);
    await clock.advance(2000);
    await commit(transaction);
    expect(figureOf((await begin()).get(books, 'a'))).toBe(2);
  });

  it('a commit that is stored succeeds, whoever gives up waiting for it', async () => {
    const caller = new AbortController();
    const transaction = await begin();
    upsert(transaction, 'a', 1);
    store.hold();
    const committing = documents.commit(transaction, null, caller.signal);
    await settle();
    caller.abort();
    store.release();
    await committing;
    expect(documents.outcomeOf(transaction.id)).toMatchObject({ kind: 'committed' });
  });

  it('remembers the answer of a committed transaction over a restart', async () => {
    const transaction = await begin();
    transaction.insert(books, { _key: 'a' });
    const commitTimestamp = await documents.commit(transaction, { stored: 1 }, signal);
    documents = open();
    expect(documents.outcomeOf(transaction.id)).toEqual({ kind: 'committed', commitTimestamp, answer: { stored: 1 } });
    expect(documents.outcomeOf('never')).toEqual({ kind: 'unknown' });
  });

  it('goes on with later timestamps after a restart on a machine whose clock went back', async () => {
    const committed = await put('a', 1);
    clock = new SleepingClock(clock.nowMs() - 60_000);
    documents = open();
    expect(documents.timestamps.now()).toBeGreaterThan(committed);
    expect(figureOf((await begin()).get(books, 'a'))).toBe(1);
  });

  it('gives up waiting when the caller does', async () => {
    const transaction = await begin();
    upsert(transaction, 'a', 1);
    await documents.prepare(transaction);
    const caller = new AbortController();
    const reader = await documents.begin({ id: 'r', signal: caller.signal });
    const refused = expect(reader.ready(books, { keys: ['a'] }, caller.signal)).rejects.toMatchObject({ code: 'CANCELLED' });
    caller.abort();
    await refused;
  });
});

describe('who watches a collection (R28)', () => {
  it('hears of each document that a commit writes or removes once it can be read, of no other collection, and no more once it leaves', async () => {
    const heard: unknown[] = [];
    const leave = documents.watch(books.id, (key, timestamp) => heard.push([key, timestamp]));
    const leaveToo = documents.watch(books.id, (key) => heard.push(key));
    const written = await put('a', 1);
    expect(heard).toEqual([['a', written], 'a']);
    leaveToo();
    await write((transaction) => void transaction.insert(links, { _key: 'l', _from: 'books/a', _to: 'books/a' }));
    const aborted = await begin();
    upsert(aborted, 'b', 1);
    const prepared = await begin();
    upsert(prepared, 'c', 1);
    const proposal = await documents.prepare(prepared);
    expect(heard).toHaveLength(2);
    await documents.decide(prepared.id, { kind: 'commit', commitTimestamp: proposal });
    const removed = await write((transaction) => void transaction.remove(books, 'a'));
    expect(heard.slice(2)).toEqual([
      ['c', proposal],
      ['a', removed],
    ]);
    leave();
    leave();
    await put('a', 2);
    expect(heard).toHaveLength(4);
  });

  it('can list keys without reading what they hold', async () => {
    for (const key of ['b', 'a', 'c']) await put(key, 1);
    await write((transaction) => void transaction.remove(books, 'b'));
    const transaction = await begin();
    upsert(transaction, 'd', 1);
    const first = transaction.keys(books, { afterKey: undefined, documentsMax: 1, bytesMax: 1e9 });
    expect(first.keys[0]).toBe('a');
    expect(transaction.keys(books, { afterKey: first.lastKey, documentsMax: 100, bytesMax: 1e9 }).keys).toEqual(['c', 'd']);
  });
});
