import fc from 'fast-check';
import { expect, it } from 'vitest';
import { SleepingClock, settle } from '../../test/support/ManualClock.js';
import { MemoryStore } from '../../test/support/MemoryStore.js';
import type { CollectionRef } from './CollectionRef.js';
import { DocumentStore } from './DocumentStore.js';
import { GarbageCollector } from './GarbageCollector.js';
import { keyLayout } from './KeyLayout.js';
import { storageOptions } from './options.js';
import type { Timestamp } from './Timestamp.js';

const { signal } = new AbortController();
const options = storageOptions.parse({});
const collection = (id: number): CollectionRef => ({ database: 'd', name: `c${id}`, id, kind: 'document' });
const rowsOf = (store: MemoryStore): number =>
  (['current', 'history'] as const).reduce((rows, kind) => rows + store.scan({ ...keyLayout.all(kind), entriesMax: 1e6 }).length, 0);

const setUp = () => {
  const [clock, store] = [new SleepingClock(), new MemoryStore()];
  const documents = DocumentStore.open({ store, clock, options });
  let ids = 0;
  const write = async (id: number, key: string, value: number | undefined): Promise<Timestamp> => {
    const transaction = await documents.begin({ id: `t${ids++}`, signal });
    const old = transaction.get(collection(id), key);
    if (value === undefined && old) transaction.remove(collection(id), key);
    else if (value !== undefined && old) transaction.replace(collection(id), key, { value });
    else if (value !== undefined) transaction.insert(collection(id), { _key: key, value });
    return documents.commit(transaction, null, signal);
  };
  const collect = async (horizon: Timestamp, isLive: (id: number) => boolean = () => true, rowsMax = 3): Promise<void> => {
    const garbage = new GarbageCollector({ store, rowsMax });
    const liveCollections = async () => new Set([1, 2, 3].filter(isLive));
    const isBeingWritten = (id: number, key: string): boolean => documents.isBeingWritten(id, key);
    const step = { horizon, outcomesKeptAfter: horizon, liveCollections, isBeingWritten };
    for (let i = 0; i < 200; i++) await garbage.step(step);
  };
  return { clock, store, documents, write, collect };
};

it('never removes what a snapshot at or after the horizon can read, and keeps no more than that', async () => {
  const step = fc.record({
    id: fc.constantFrom(1, 2),
    key: fc.constantFrom('a', 'ab', 'b'),
    value: fc.option(fc.nat(9), { nil: undefined }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), fc.nat(25), fc.integer({ min: 1, max: 5 }), async (steps, at, rowsMax) => {
      const { store, documents, write, collect } = setUp();
      const states: { readonly timestamp: Timestamp; readonly values: ReadonlyMap<string, number> }[] = [];
      let values = new Map<string, number>();
      for (const { id, key, value } of steps) {
        values = new Map(values);
        if (value === undefined) values.delete(`${id}/${key}`);
        else values.set(`${id}/${key}`, value);
        states.push({ timestamp: await write(id, key, value), values });
      }
      const horizon = states[Math.min(at, states.length - 1)]?.timestamp ?? documents.timestamps.now();
      await collect(horizon, undefined, rowsMax);
      for (const state of states.filter(({ timestamp }) => timestamp >= horizon)) {
        const transaction = await documents.begin({ id: 'r', readTimestamp: state.timestamp, signal });
        const found = [1, 2].flatMap((id) =>
          transaction
            .scan(collection(id), { afterKey: undefined, documentsMax: 99, bytesMax: 1e9 })
            .documents.map((one) => [`${id}/${one._key}`, one['value']]),
        );
        expect(new Map(found as [string, number][])).toEqual(new Map([...state.values].sort()));
      }
      await collect(documents.timestamps.now(), undefined, rowsMax);
      expect(rowsOf(store)).toBe(values.size);
    }),
    { numRuns: 60 },
  );
});

it('removes all rows of a dropped collection and none of another', async () => {
  const { store, documents, write, collect } = setUp();
  for (const value of [1, 2, 3]) for (const id of [1, 2]) await write(id, 'a', value);
  await collect(0 as Timestamp, (id) => id === 2);
  expect(store.scan({ ...keyLayout.collection('current', 1), entriesMax: 9 })).toEqual([]);
  expect(store.scan({ ...keyLayout.collection('history', 1), entriesMax: 9 })).toEqual([]);
  expect(store.scan({ ...keyLayout.collection('history', 2), entriesMax: 9 })).toHaveLength(2);
  expect((await documents.begin({ id: 'r', signal })).get(collection(2), 'a')).toMatchObject({ value: 3 });
});

it('forgets outcomes below the horizon', async () => {
  const { documents, write, collect } = setUp();
  const first = await write(1, 'a', 1);
  await write(1, 'a', 2);
  await collect((first + 1) as Timestamp);
  expect(documents.outcomeOf('t0')).toEqual({ kind: 'unknown' });
  expect(documents.outcomeOf('t1')).toMatchObject({ kind: 'committed' });
});

it('removes nothing of a collection that is made, or of a document that is written again, while it lists the collections', async () => {
  const { store, documents, write, collect } = setUp();
  await write(1, 'a', 1);
  await write(1, 'a', undefined);
  await collect(0 as Timestamp);
  const garbage = new GarbageCollector({ store, rowsMax: 100 });
  const live = new Set([1]);
  const liveCollections = async (): Promise<ReadonlySet<number>> => {
    const listed = new Set(live);
    await write(1, 'a', 2);
    live.add(2);
    await write(2, 'b', 3); // made after the list was read
    return listed;
  };
  const isBeingWritten = (id: number, key: string): boolean => documents.isBeingWritten(id, key);
  const horizon = documents.timestamps.now();
  for (let i = 0; i < 3; i++)
    await garbage.step({
      horizon,
      outcomesKeptAfter: horizon,
      liveCollections: i === 1 ? liveCollections : async () => live,
      isBeingWritten,
    });
  const reader = await documents.begin({ id: 'r', signal });
  expect([reader.get(collection(1), 'a'), reader.get(collection(2), 'b')]).toMatchObject([{ value: 2 }, { value: 3 }]);
});

it('does not remove the row of a removed document that a commit on its way to the store is writing again', async () => {
  const { store, documents, write, collect } = setUp();
  await write(1, 'a', 1);
  await write(1, 'a', undefined);
  await collect(0 as Timestamp);
  const garbage = new GarbageCollector({ store, rowsMax: 100 });
  const step = {
    horizon: documents.timestamps.now(),
    outcomesKeptAfter: documents.timestamps.now(),
    liveCollections: async () => new Set([1]),
    isBeingWritten: (id: number, key: string) => documents.isBeingWritten(id, key),
  };
  expect(await garbage.step(step)).toBe(1); // the old version; now only the removal is left
  store.hold();
  const writing = write(1, 'a', 2);
  await settle();
  const collecting = garbage.step(step);
  await settle();
  store.release();
  await Promise.all([writing, collecting]);
  expect((await documents.begin({ id: 'r', signal })).get(collection(1), 'a')).toMatchObject({ value: 2 });
});

it('looks at every kind of rows in turn, each once a round, however many another has', async () => {
  const { store, documents, write } = setUp();
  for (let i = 0; i < 40; i++) await write(1, `k${i}`, i);
  const garbage = new GarbageCollector({ store, rowsMax: 5 });
  const horizon = documents.timestamps.now();
  const step = { horizon, outcomesKeptAfter: horizon, liveCollections: async () => new Set([1]), isBeingWritten: () => false };
  const outcomes = (): number => store.scan({ ...keyLayout.all('outcome'), entriesMax: 99 }).length;
  expect(garbage.isRoundOver).toBe(true);
  // No history, then a step of the documents and one of the outcomes by turns.
  for (let steps = 1; steps <= 9; steps++) await garbage.step(step);
  expect([outcomes(), garbage.isRoundOver]).toEqual([20, false]);
  let steps = 9;
  for (; !garbage.isRoundOver; steps++) await garbage.step(step);
  expect([outcomes(), steps]).toEqual([0, 1 + 9 + 9]); // eight full ones of each, and one that finds the end
});
