import type { MetadataEntry, MetadataStore } from '../platform/index.js';
import type { CollectionRef } from '../storage/index.js';
import { shardingError } from './errors.js';

export interface DatabaseInfo {
  readonly name: string;
  readonly id: number;
}

export interface CollectionInfo extends CollectionRef {
  /** `keyOptions` and the like as the creator gave them; answered back by properties. */
  readonly waitForSync: boolean;
}

const databaseKey = (name: string): string => `database/${name}`;
const collectionKey = (database: string, name: string): string => `collection/${database}/${name}`;
const idKey = 'catalog/next-id';
const namePattern = (lengthMax: number): RegExp => new RegExp(`^[A-Za-z_][A-Za-z0-9_-]{0,${lengthMax - 1}}$`);
const databasePattern = namePattern(64);
const collectionPattern = namePattern(256);
const idAttemptsMax = 100;

/**
 * Databases and collections of the cluster, in the metadata store (R4). Reads go through: a collection created on one shard is there on
 * the next at once, and a dropped one is gone.
 */
export class Catalog {
  readonly #metadata: MetadataStore;

  constructor(parts: { readonly metadata: MetadataStore }) {
    this.#metadata = parts.metadata;
  }

  /** `_system` exists from the first start on. */
  async start(): Promise<void> {
    if (await this.#metadata.read(databaseKey('_system'))) return;
    await this.#metadata.transact({
      conditions: [{ key: databaseKey('_system'), revision: 0 }],
      operations: [{ kind: 'put', key: databaseKey('_system'), value: JSON.stringify({ name: '_system', id: 1 }) }],
    });
  }

  async databases(): Promise<readonly DatabaseInfo[]> {
    return (await this.#metadata.list('database/')).map(({ value }) => JSON.parse(value) as DatabaseInfo);
  }

  /** Errors: DATABASE_NOT_FOUND. */
  async database(name: string): Promise<DatabaseInfo> {
    const entry = await this.#metadata.read(databaseKey(name));
    if (!entry) throw shardingError('DATABASE_NOT_FOUND', `database not found: ${name}`);
    return JSON.parse(entry.value) as DatabaseInfo;
  }

  /** Errors: DATABASE_NAME_INVALID, NAME_EXISTS. */
  async createDatabase(name: string): Promise<DatabaseInfo> {
    if (!databasePattern.test(name)) throw shardingError('DATABASE_NAME_INVALID', `illegal database name ${JSON.stringify(name)}`);
    const info: DatabaseInfo = { name, id: await this.#nextId() };
    await this.#create(databaseKey(name), JSON.stringify(info), `duplicate database name ${name}`);
    return info;
  }

  /** Drops its collections with it, all or nothing. Errors: DATABASE_NOT_FOUND, DATABASE_PROTECTED. */
  async dropDatabase(name: string): Promise<void> {
    if (name === '_system') throw shardingError('DATABASE_PROTECTED', 'the database _system cannot be dropped');
    await this.database(name);
    const collections = await this.#metadata.list(`collection/${name}/`);
    const keys = [databaseKey(name), ...collections.map(({ key }) => key)];
    const { revision } = await this.#metadata.transact({
      conditions: [],
      operations: keys.map((key) => ({ kind: 'delete' as const, key })),
    });
    // One that appeared between the list and the drop; none can appear after it, except in a database made again under the name.
    const late = (await this.#metadata.list(`collection/${name}/`)).filter((entry) => entry.revision <= revision);
    for (const { key, revision: known } of late) {
      await this.#metadata.transact({ conditions: [{ key, revision: known }], operations: [{ kind: 'delete', key }] });
    }
  }

  /** Errors: DATABASE_NOT_FOUND. */
  async collections(database: string): Promise<readonly CollectionInfo[]> {
    await this.database(database);
    return (await this.#metadata.list(`collection/${database}/`)).map(toCollection);
  }

  async findCollection(database: string, name: string): Promise<CollectionInfo | undefined> {
    const entry = await this.#metadata.read(collectionKey(database, name));
    return entry && toCollection(entry);
  }

  /** Errors: DATABASE_NOT_FOUND, COLLECTION_NOT_FOUND. */
  async collection(database: string, name: string): Promise<CollectionInfo> {
    const found = await this.findCollection(database, name);
    if (found) return found;
    await this.database(database);
    throw shardingError('COLLECTION_NOT_FOUND', `collection or view not found: ${name}`);
  }

  /** Errors: DATABASE_NOT_FOUND, COLLECTION_NAME_INVALID, NAME_EXISTS. */
  async createCollection(request: {
    readonly database: string;
    readonly name: string;
    readonly kind: 'document' | 'edge';
    readonly waitForSync: boolean;
  }): Promise<CollectionInfo> {
    const { database, name } = request;
    if (!collectionPattern.test(name)) throw shardingError('COLLECTION_NAME_INVALID', `illegal collection name ${JSON.stringify(name)}`);
    const parent = await this.#metadata.read(databaseKey(database));
    if (!parent) throw shardingError('DATABASE_NOT_FOUND', `database not found: ${database}`);
    const info: CollectionInfo = { ...request, id: await this.#nextId() };
    // The database must still be there when the collection appears.
    const guard = [{ key: parent.key, revision: parent.revision }];
    await this.#create(collectionKey(database, name), JSON.stringify(info), `duplicate collection name ${name}`, guard);
    return info;
  }

  /** Its rows are collected later by each shard. Errors: COLLECTION_NOT_FOUND. */
  async dropCollection(database: string, name: string): Promise<CollectionInfo> {
    const info = await this.collection(database, name);
    await this.#metadata.transact({ conditions: [], operations: [{ kind: 'delete', key: collectionKey(database, name) }] });
    return info;
  }

  /** Numbers of all collections that exist: rows of others are garbage. */
  async liveCollectionIds(): Promise<ReadonlySet<number>> {
    return new Set((await this.#metadata.list('collection/')).map((entry) => toCollection(entry).id));
  }

  async #create(
    key: string,
    value: string,
    message: string,
    guard: readonly { readonly key: string; readonly revision: number }[] = [],
  ): Promise<void> {
    const { committed } = await this.#metadata.transact({
      conditions: [{ key, revision: 0 }, ...guard],
      operations: [{ kind: 'put', key, value }],
    });
    if (committed) return;
    for (const { key: guarded, revision } of guard) {
      if ((await this.#metadata.read(guarded))?.revision !== revision)
        throw shardingError('DATABASE_NOT_FOUND', 'the database was dropped at the same time');
    }
    throw shardingError('NAME_EXISTS', message);
  }

  async #nextId(): Promise<number> {
    for (let attempt = 0; attempt < idAttemptsMax; attempt++) {
      const entry = await this.#metadata.read(idKey);
      const id = entry ? Number(entry.value) : 100;
      const { committed } = await this.#metadata.transact({
        conditions: [{ key: idKey, revision: entry?.revision ?? 0 }],
        operations: [{ kind: 'put', key: idKey, value: String(id + 1) }],
      });
      if (committed) return id;
    }
    throw shardingError('CATALOG_BUSY', 'too many databases and collections are created at the same time');
  }
}

const toCollection = ({ value }: MetadataEntry): CollectionInfo => JSON.parse(value) as CollectionInfo;
