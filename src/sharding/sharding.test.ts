import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { MemoryMetadata } from '../../test/support/MemoryMetadata.js';
import { EventLog } from '../../test/support/silentPorts.js';
import { asId, type ShardId, xxh64 } from '../base/index.js';
import { assignSlots } from './assignSlots.js';
import { Catalog } from './Catalog.js';
import { ConsistentHashRing } from './ConsistentHashRing.js';
import { ShardingManager } from './ShardingManager.js';
import { slotCount, slotOf } from './slotOf.js';

const shardIds = (numbers: readonly number[]): ShardId[] => numbers.map((number) => asId<ShardId>(`shard-${number}`));
const counts = (owners: readonly ShardId[]): Map<ShardId, number> => {
  const found = new Map<ShardId, number>();
  for (const owner of owners) found.set(owner, (found.get(owner) ?? 0) + 1);
  return found;
};

describe('assignSlots (R5)', () => {
  const sets = fc.uniqueArray(fc.nat(63), { minLength: 1, maxLength: 64 });

  it('gives every shard its share: the largest is within 5 % of the mean', () => {
    fc.assert(
      fc.property(sets, (numbers) => {
        const owned = counts(assignSlots(shardIds(numbers)));
        expect(owned.size).toBe(numbers.length);
        expect(Math.max(...owned.values()) / (slotCount / numbers.length)).toBeLessThanOrEqual(1.05);
      }),
    );
  });

  it('moves as few slots as any balanced table would, over any joins and leaves', () => {
    fc.assert(
      fc.property(fc.array(sets, { minLength: 2, maxLength: 5 }), (steps) => {
        let owners: ShardId[] = [];
        for (const numbers of steps) {
          const ids = shardIds(numbers);
          const before = counts(owners);
          const next = assignSlots(ids, owners);
          const base = Math.floor(slotCount / ids.length);
          const held = ids.map((id) => before.get(id) ?? 0);
          const extras = Math.min(slotCount % ids.length, held.filter((count) => count > base).length);
          const keepable = held.reduce((sum, count) => sum + Math.min(count, base), extras);
          expect(next.filter((owner, slot) => owner === owners[slot]).length).toBe(keepable);
          owners = next;
        }
      }),
    );
  });

  it('is the same on every shard', () => {
    expect(assignSlots(shardIds([0, 1, 2]))).toEqual(assignSlots(shardIds([0, 1, 2])));
  });
});

describe('slotOf', () => {
  it('is the top 12 bits of xxh64 of the URN; the values never change, since rows are placed by them', () => {
    expect(xxh64('')).toBe(0xef46db3751d8e999n);
    expect(xxh64('a')).toBe(0xd24ec4f1a98c6e5bn);
    const slots = ['1', 'a', 'straße'].map((key) => slotOf({ database: '_system', collection: 'books', key }));
    expect(slots).toEqual([4050, 242, 109]);
  });

  it('spreads keys: no shard of eight has over 1.15 times the mean of 20000', () => {
    const ring = ConsistentHashRing.of(1, assignSlots(shardIds([0, 1, 2, 3, 4, 5, 6, 7])));
    const owned = counts(Array.from({ length: 20_000 }, (_, i) => ring.ownerOf({ database: 'd', collection: 'c', key: String(i) })));
    expect(Math.max(...owned.values())).toBeLessThan(2500 * 1.15);
  });
});

describe('ConsistentHashRing', () => {
  it('gives back every owner after a round trip, and counts slots', () => {
    const owners = assignSlots(shardIds([3, 1, 2]));
    const ring = new ConsistentHashRing(JSON.parse(JSON.stringify(ConsistentHashRing.of(4, owners).toJson())));
    expect(owners.every((owner, slot) => ring.ownerOfSlot(slot) === owner)).toBe(true);
    expect(ring.shards).toEqual(shardIds([1, 2, 3]));
    expect(ring.shards.map((id) => ring.slotsOf(id)).reduce((sum, count) => sum + count)).toBe(slotCount);
    expect([ring.ownerOfHash(0n), ring.ownerOfHash(2n ** 64n - 1n)]).toEqual([owners[0], owners[slotCount - 1]]);
  });
});

describe('ShardingManager', () => {
  it('the first shard creates the ring, the next finds it; another epoch is refused', async () => {
    const metadata = new MemoryMetadata();
    const [first, second] = [0, 1].map(() => new ShardingManager({ metadata, logger: new EventLog() })) as [
      ShardingManager,
      ShardingManager,
    ];
    await first.start(shardIds([0, 1]));
    await second.start(shardIds([0, 1, 2]));
    expect(second.ring.toJson()).toEqual(first.ring.toJson());
    first.checkEpoch(1);
    expect(() => first.checkEpoch(2)).toThrow(expect.objectContaining({ code: 'WRONG_EPOCH', retryable: true }));
  });
});

describe('Catalog (R4)', () => {
  let metadata: MemoryMetadata;
  let catalog: Catalog;
  const create = (database: string, name: string) => catalog.createCollection({ database, name, kind: 'document', waitForSync: false });
  beforeEach(async () => {
    metadata = new MemoryMetadata();
    catalog = new Catalog({ metadata });
    await catalog.start();
  });

  it('starts with _system, once', async () => {
    await catalog.start();
    expect(await catalog.databases()).toEqual([{ name: '_system', id: 1 }]);
  });

  it.each(['', '1a', 'a b', 'a/b', 'ä', 'x'.repeat(65), '-a'])('refuses the database name %j', async (name) => {
    await expect(catalog.createDatabase(name)).rejects.toMatchObject({ code: 'DATABASE_NAME_INVALID' });
  });

  it.each(['', '1a', 'a.b', 'x'.repeat(257)])('refuses the collection name %j', async (name) => {
    await expect(create('_system', name)).rejects.toMatchObject({ code: 'COLLECTION_NAME_INVALID' });
  });

  it.each(['x'.repeat(257), 'x'.repeat(5_000), 'x'.repeat(1_000_000), '', 'a/b', 'ä', 'a\u0000'])(
    'what no name can be names nothing and is not asked of the metadata store (%.20j)',
    async (name) => {
      metadata.fail = new Error('asked for a key that no entry can have');
      expect(await catalog.findCollection('_system', name)).toBeUndefined();
      for (const lookUp of [() => catalog.database(name), () => catalog.collection(name, 'books'), () => create(name, 'books')]) {
        const error = await lookUp().catch((thrown: Error) => thrown);
        expect(error).toMatchObject({ code: 'DATABASE_NOT_FOUND' });
        expect((error as Error).message.length).toBeLessThan(400);
      }
      await expect(catalog.dropDatabase(name)).rejects.toMatchObject({ code: 'DATABASE_NOT_FOUND' });
      metadata.fail = undefined;
      for (const lookUp of [() => catalog.collection('_system', name), () => catalog.dropCollection('_system', name)])
        await expect(lookUp()).rejects.toMatchObject({ code: 'COLLECTION_NOT_FOUND' });
    },
  );

  it('refuses a second of a name, and what has no database', async () => {
    await catalog.createDatabase('d');
    await create('d', 'books');
    await expect(catalog.createDatabase('d')).rejects.toMatchObject({ code: 'NAME_EXISTS' });
    await expect(create('d', 'books')).rejects.toMatchObject({ code: 'NAME_EXISTS' });
    await expect(create('nowhere', 'books')).rejects.toMatchObject({ code: 'DATABASE_NOT_FOUND' });
    await expect(catalog.collection('nowhere', 'x')).rejects.toMatchObject({ code: 'DATABASE_NOT_FOUND' });
    await expect(catalog.collection('d', 'x')).rejects.toMatchObject({ code: 'COLLECTION_NOT_FOUND' });
  });

  it('numbers are unique, also of collections created at once; one made again has another', async () => {
    const made = await Promise.all(Array.from({ length: 20 }, (_, i) => create('_system', `c${i}`)));
    await catalog.dropCollection('_system', 'c0');
    const again = await create('_system', 'c0');
    expect(new Set([...made, again].map(({ id }) => id)).size).toBe(21);
    expect((await catalog.liveCollectionIds()).has(made[0]?.id as number)).toBe(false);
  });

  it('a dropped database takes its collections with it and no others', async () => {
    for (const name of ['d', 'd2']) await catalog.createDatabase(name);
    for (const name of ['d', 'd2', '_system']) await create(name, 'books');
    await catalog.dropDatabase('d');
    expect(await catalog.findCollection('d', 'books')).toBeUndefined();
    expect([(await catalog.collections('d2')).length, (await catalog.liveCollectionIds()).size]).toEqual([1, 2]);
    await expect(catalog.dropDatabase('d')).rejects.toMatchObject({ code: 'DATABASE_NOT_FOUND' });
    await expect(catalog.dropDatabase('_system')).rejects.toMatchObject({ code: 'DATABASE_PROTECTED' });
  });

  it('a collection created while its database is dropped is gone too, or never made', async () => {
    await catalog.createDatabase('d');
    const transact = metadata.transact.bind(metadata);
    let isFirst = true;
    metadata.transact = async (request) => {
      const isDrop = request.operations.some(({ kind, key }) => kind === 'delete' && key === 'database/d');
      if (isDrop && isFirst) {
        isFirst = false;
        await create('d', 'late');
      }
      return transact(request);
    };
    await catalog.dropDatabase('d');
    expect(await metadata.list('collection/d/')).toEqual([]);
    await catalog.createDatabase('e');
    isFirst = true;
    metadata.transact = async (request) => {
      if (request.operations.some(({ key }) => key === 'collection/e/late') && isFirst) {
        isFirst = false;
        await catalog.dropDatabase('e');
      }
      return transact(request);
    };
    await expect(create('e', 'late')).rejects.toMatchObject({ code: 'DATABASE_NOT_FOUND' });
  });
});
