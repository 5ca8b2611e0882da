import { beforeEach, describe, expect, it } from 'vitest';
import { SleepingClock, settle } from '../../../test/support/ManualClock.js';
import { MemoryMetadata } from '../../../test/support/MemoryMetadata.js';
import { MemoryStore } from '../../../test/support/MemoryStore.js';
import { ScriptedTransport } from '../../../test/support/ScriptedTransport.js';
import { CountingRandom, EventLog, silentMetrics } from '../../../test/support/silentPorts.js';
import { asId, baseError, type JsonValue, type ShardId } from '../../base/index.js';
import { declareRpcMetrics, RemoteExecutor, RpcServer, rpcOptions } from '../../rpc/index.js';
import { Catalog, ShardingManager } from '../../sharding/index.js';
import { type CollectionRef, DocumentStore, storageOptions, type Timestamp } from '../../storage/index.js';
import type { DocumentOutcome } from './DocumentOperation.js';
import { type DocumentRequest, DocumentService } from './DocumentService.js';
import { documentMethods } from './documentMethods.js';
import { LocalDocuments } from './LocalDocuments.js';

// The service over one shard, its own: the real RPC without a network.

const self = asId<ShardId>('s0');
const { signal } = new AbortController();
const requestBytesMax = 20_000;
const text = 'x'.repeat(2000); // about 4,000 bytes of memory

let store: MemoryStore;
let service: DocumentService;
let local: LocalDocuments;
let clock: SleepingClock;
let books: CollectionRef;
/** Told whenever work lets others run. */
let onRest: () => void;
/** Sizes of the requests and answers of `document.run`. */
let sent: { readonly operations: number; readonly outcomes: number }[];

beforeEach(async () => {
  clock = new SleepingClock();
  onRest = () => undefined;
  const turns = {
    rest: async (_owner: object, given: AbortSignal) => {
      onRest();
      given.throwIfAborted();
    },
  };
  const [metadata, logger, random] = [new MemoryMetadata(), new EventLog(), new CountingRandom()];
  store = new MemoryStore();
  const storage = storageOptions.parse({});
  const documents = DocumentStore.open({ store, clock, options: storage });
  const { timestamps } = documents;
  const exchange = { last: () => timestamps.last(), observe: (at: number) => timestamps.observe(at as Timestamp) };
  const rpc = { clock, logger, metrics: declareRpcMetrics(silentMetrics), timestamps: exchange, options: rpcOptions.parse({}) };
  const server = new RpcServer(rpc);
  const catalog = new Catalog({ metadata });
  const sharding = new ShardingManager({ metadata, logger });
  await catalog.start();
  await sharding.start([self]);
  books = await catalog.createCollection({ database: '_system', name: 'books', kind: 'document', waitForSync: false });
  local = new LocalDocuments({ documents, turns, options: storage });
  const methods = documentMethods({ documents: local, sharding, turns, options: { requestBytesMax } });
  sent = [];
  server.register({
    'document.run': async function* (request) {
      const { operations } = request.body as unknown as { readonly operations: readonly JsonValue[] };
      for await (const answer of (methods['document.run'] as (typeof methods)[string])(request)) {
        sent.push({ operations: operations.length, outcomes: (answer as unknown as { readonly outcomes: JsonValue[] }).outcomes.length });
        yield answer;
      }
    },
  });
  const transport = new ScriptedTransport(() => {
    throw new Error('nobody else is asked');
  });
  const executor = new RemoteExecutor({ ...rpc, selfShardId: self, transport, server, peers: { find: () => undefined }, random });
  service = new DocumentService({ catalog, sharding, executor, clock, random, options: { requestBytesMax } });
});

const keys = Array.from({ length: 200 }, (_, i) => `k${i}`);
const run = (requests: readonly DocumentRequest[]) => service.run('_system', 'books', requests, signal);
const insertOf = (key: string, changes: Partial<DocumentRequest> = {}): DocumentRequest => ({
  kind: 'insert',
  key,
  document: { _key: key, text },
  options: {},
  ...changes,
});
const kinds = (outcomes: readonly DocumentOutcome[]) => new Set(outcomes.map(({ kind }) => kind));

it('a count rests before each chunk, and ends in a rest with its signal', async () => {
  for (let i = 0; i < 25; i++) await run(Array.from({ length: 100 }, (_, k) => insertOf(`c${i * 100 + k}`, { document: {} })));
  let rests = 0;
  const stop = new AbortController();
  onRest = () => {
    if (++rests === 5) stop.abort(baseError('CANCELLED', 'the client left'));
  };
  expect(await local.count(books, stop.signal)).toBe(2500);
  expect(rests).toBe(3);
  await expect(local.count(books, stop.signal)).rejects.toMatchObject({ code: 'CANCELLED' });
});

it('a request of many operations rests between them, while it checks them and while it runs them', async () => {
  let rests = 0;
  onRest = () => rests++;
  const operations = 3000;
  await run(Array.from({ length: operations }, (_, i) => ({ kind: 'read', key: `absent${i}`, document: {}, options: {} })));
  expect(sent[0]?.operations).toBeGreaterThan(60);
  expect(rests).toBeGreaterThanOrEqual((2 * operations) / 64);
});

describe('a batch', () => {
  it('is split by bytes, each request and each answer, and every operation is answered once, in order', async () => {
    expect(kinds(await run(keys.map((key) => insertOf(key))))).toEqual(new Set(['done']));
    for (const { operations } of sent) expect(operations).toBeLessThanOrEqual(5);
    sent.length = 0;
    const read = await run(keys.map((key) => ({ kind: 'read', key, document: {}, options: {} })));
    expect(read.map((outcome) => outcome.kind === 'done' && outcome.new?._key)).toEqual(keys);
    expect(sent[0]?.operations).toBe(200); // small requests, large answers
    for (const { outcomes } of sent) expect(outcomes).toBeLessThanOrEqual(5);
  });

  it('of changes whose answer does not go into one runs each of them once', async () => {
    await run(keys.map((key) => insertOf(key, { document: { _key: key, text, n: 0 } })));
    const returns = { new: true, old: true };
    const updated = await run(keys.map((key) => ({ kind: 'update', key, document: { n: 1 }, options: {}, returns })));
    expect(kinds(updated)).toEqual(new Set(['done']));
    for (const outcome of updated) expect(outcome).toMatchObject({ old: { n: 0 }, new: { n: 1 } });
  });

  it('answers the documents that failed in their places', async () => {
    await run([insertOf('k1')]);
    const outcomes = await run(keys.slice(0, 3).map((key) => insertOf(key)));
    expect(outcomes.map((outcome) => (outcome.kind === 'done' ? 'done' : outcome.error.code))).toEqual([
      'done',
      'UNIQUE_CONSTRAINT_VIOLATED',
      'done',
    ]);
  });

  it('has one document above the limit answered alone', async () => {
    const large = insertOf('large', { document: { _key: 'large', text: 'y'.repeat(50_000) } });
    expect(kinds(await run([insertOf('a'), large, insertOf('b')]))).toEqual(new Set(['done']));
    expect((await service.read('_system', 'books', 'large', signal))['text']).toHaveLength(50_000);
  });
});

it('new and old come back whole only where they are asked for, else as _id, _key and _rev', async () => {
  const [plain] = await run([insertOf('a')]);
  expect(plain).toEqual({ kind: 'done', old: null, new: { _key: 'a', _id: 'books/a', _rev: expect.any(String) } });
  const replace = { kind: 'replace', key: 'a', document: { n: 2 }, options: {} } as const;
  const [asked] = await run([{ ...replace, returns: { new: false, old: true } }]);
  expect(asked).toEqual({
    kind: 'done',
    old: { _key: 'a', _id: 'books/a', _rev: expect.any(String), text },
    new: { _key: 'a', _id: 'books/a', _rev: expect.any(String) },
  });
  const [removed] = await run([{ kind: 'remove', key: 'a', document: {}, options: {} }]);
  expect(removed).toEqual({ kind: 'done', old: { _key: 'a', _id: 'books/a', _rev: expect.any(String) }, new: null });
});

it('a repeated operation waits for the first, and is not given up with it', async () => {
  store.hold();
  const request = { requestId: 'r', operation: { kind: 'insert', key: 'a', document: { n: 1 }, options: {} } } as const;
  const first = new AbortController();
  const given = local.run(books, request, first.signal).catch(({ code }: { code: string }) => code);
  const repeated = local.run(books, request, signal);
  first.abort();
  expect(await given).toBe('CANCELLED');
  const { commits } = store;
  store.release();
  expect(await repeated).toMatchObject({ kind: 'done', new: { _key: 'a' } });
  expect(store.commits).toBe(commits);
});

it('an operation that its caller gave up is not run a second time by its repetition', async () => {
  store.hold();
  const request = { requestId: 'r', operation: { kind: 'insert', key: 'a', document: { n: 1 }, options: {} } } as const;
  const first = new AbortController();
  const given = local.run(books, request, first.signal).catch(({ code }: { code: string }) => code);
  await settle(); // its commit is being stored
  first.abort();
  expect(await given).toBe('CANCELLED');
  const repeated = local.run(books, request, signal);
  store.release();
  expect(await repeated).toMatchObject({ kind: 'done', new: { _key: 'a' } });
});

it('a document is not stored again as the answer to remember', async () => {
  const bytes = (): number =>
    store.scan({ from: Uint8Array.of(0), to: Uint8Array.of(255), entriesMax: 1e6 }).reduce((sum, { value }) => sum + value.length, 0);
  const before = bytes();
  await run([insertOf('a')]);
  expect(bytes() - before).toBeLessThan(text.length * 1.5);
});
