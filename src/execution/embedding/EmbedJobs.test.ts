import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openToyEngine, ToyEmbeddingBackend, type ToyEngine } from '../../../sim/engine/index.js';
import { MemoryStore } from '../../../test/support/MemoryStore.js';
import { CountingRandom, EventLog } from '../../../test/support/silentPorts.js';
import { asId, type JsonValue, type ShardId } from '../../base/index.js';
import { cooperationOptions, ProgressRegistry } from '../../cooperation/index.js';
import { type Clock, type EmbedRequest, platformError } from '../../platform/index.js';
import type { ShardingManager } from '../../sharding/index.js';
import {
  type CollectionRef,
  DocumentStore,
  JobRecords,
  type StoredDocument,
  storageOptions,
  type Transaction,
} from '../../storage/index.js';
import { FairTurns } from '../FairTurns.js';
import { type ExecutionOptions, executionOptions } from '../options.js';
import { QueryMemory } from '../QueryMemory.js';
import type { ModelAccess } from '../SequenceContext.js';
import { EmbedJobs } from './EmbedJobs.js';
import type { EmbedTask } from './EmbedTask.js';
import { keptJobId } from './keptJobId.js';

const shardId = asId<ShardId>('shard-0');
const books: CollectionRef = { database: '_system', name: 'books', id: 100, kind: 'document' };
const { signal: never } = new AbortController();
const rowCount = 50;
const query = "LLM EMBED 'default' FOR d IN books FROM d.text INTO vector";
const taskOf = (text: string = query, job = 'embed:1'): EmbedTask => ({ version: 1, job, collection: books, query: text, bindVars: {} });

/** The toy's time on a wall of today. */
const onWall = (clock: Clock): Clock => ({
  nowMs: () => 1_700_000_000_000 + clock.nowMs(),
  monotonicMs: () => clock.monotonicMs(),
  sleep: (delayMs, signal) => clock.sleep(delayMs, signal),
  setTimer: (delayMs, callback) => clock.setTimer(delayMs, callback),
});

/** One shard with a toy engine, whose process can end and start again: the store stays. */
class OneShard {
  readonly store = new MemoryStore();
  readonly logger = new EventLog();
  readonly asked: EmbedRequest[] = [];
  readonly toy: ToyEngine = openToyEngine({
    sequences: 1,
    contextTokens: 64,
    queueRequestsMax: 4,
    script: [],
    random: new CountingRandom(),
    logger: new EventLog(),
  });
  /** Before the engine sees a request. */
  onEmbed: (request: EmbedRequest) => Promise<void> = async () => undefined;
  digest = 'a'.repeat(64);
  documents!: DocumentStore;
  jobs!: EmbedJobs;
  progress!: ProgressRegistry;
  #transactions = 0;

  constructor() {
    this.restart();
  }

  restart(options: Partial<ExecutionOptions> = {}): void {
    const clock = onWall(this.toy.clock);
    const execution = {
      ...executionOptions.parse({ embedRowsMax: 8, embedScanRowsMax: 16, embedRetryMs: 10, embedResumeMs: 100 }),
      ...options,
    };
    this.documents = DocumentStore.open({ store: this.store, clock, options: storageOptions.parse({}) });
    this.progress = new ProgressRegistry({ shardId, clock, options: cooperationOptions.parse({ jobShownAfterMs: 0 }) });
    const embed = async (request: EmbedRequest, signal: AbortSignal) => {
      await this.onEmbed(request);
      this.asked.push(request);
      return this.toy.engine.embed(request, signal);
    };
    this.jobs = new EmbedJobs({
      shardId,
      documents: this.documents,
      records: new JobRecords({ store: this.store }),
      sharding: { ring: { ownerOf: () => shardId } } as unknown as ShardingManager,
      models: { embed } as unknown as ModelAccess,
      factsOf: () => ({ name: 'toy', kind: 'embedding', digest: this.digest, contextTokensMax: 256 }),
      progress: this.progress,
      clock,
      turns: new FairTurns({ clock, options: execution }),
      random: new CountingRandom(),
      logger: this.logger,
      options: execution,
      queryMemory: new QueryMemory(execution.memoryTotalBytesMax),
    });
  }

  async write(change: (transaction: Transaction) => void): Promise<void> {
    const transaction = await this.documents.begin({ id: `t${this.#transactions++}`, signal: never });
    change(transaction);
    await this.documents.commit(transaction, null, never);
  }

  put(key: string, attributes: { readonly [name: string]: JsonValue }): Promise<void> {
    return this.write((transaction) => {
      if (transaction.get(books, key)) transaction.update(books, key, attributes, { keepNull: false, mergeObjects: true });
      else transaction.insert(books, { _key: key, ...attributes });
    });
  }

  async rows(): Promise<readonly StoredDocument[]> {
    const transaction = await this.documents.begin({ id: 'look', signal: never });
    return transaction.scan(books, { afterKey: undefined, documentsMax: 10_000, bytesMax: 1e9 }).documents;
  }

  /** Keys of rows whose vector is not that of the text they have. */
  async wrong(): Promise<readonly string[]> {
    const model = new ToyEmbeddingBackend();
    const isRight = ({ text, vector }: StoredDocument): boolean => {
      if (typeof text !== 'string') return vector === undefined;
      const [own] = model.embed([model.tokenize(text)]) as [Float32Array];
      return (vector as unknown as number[] | undefined)?.every((value, i) => Math.abs(value - (own[i] as number)) < 1e-6) ?? false;
    };
    return (await this.rows()).filter((row) => !isRight(row)).map(({ _key }) => _key);
  }

  /** Texts that the engine was asked for, without the one that it is tried with. */
  takeAsked(): readonly string[] {
    return this.asked.splice(0).flatMap(({ texts }) => texts.filter((text) => text !== ' '));
  }
}

let shard: OneShard;
const keyOf = (i: number): string => `k${String(i).padStart(3, '0')}`;
beforeEach(async () => {
  shard = new OneShard();
  await shard.write((transaction) => {
    for (let i = 0; i < rowCount; i++) transaction.insert(books, { _key: keyOf(i), text: `the text of row ${i}`, other: i });
  });
});
afterEach(() => shard.toy.engine.close(new Error('over')));

describe('LLM EMBED … FOR on a shard (R28)', () => {
  it('gives every row the vector of its text in bounded batches, notes what it was made of, and computes nothing twice', async () => {
    const outcome = await shard.jobs.run(taskOf(), never);
    expect(outcome).toMatchObject({ rows: rowCount, embedded: rowCount, again: 0, current: 0, failed: 0, changing: 0, texts: rowCount });
    expect(await shard.wrong()).toEqual([]);
    expect(shard.asked.every(({ texts, isPatient }) => texts.length <= 8 && isPatient)).toBe(true);
    expect((await shard.rows())[0]).toMatchObject({
      other: 0,
      vector_of: { text: expect.stringMatching(/^[0-9a-f]{64}$/), model: shard.digest, dimensions: 64, normalize: true },
    });
    shard.takeAsked();
    expect(await shard.jobs.run(taskOf(), never)).toMatchObject({ rows: rowCount, embedded: 0, current: rowCount, texts: 0 });
    await shard.put(keyOf(7), { text: 'another' });
    await shard.put(keyOf(8), { other: 'not the text' });
    expect(await shard.jobs.run(taskOf(), never)).toMatchObject({ embedded: 1, current: rowCount - 1 });
    expect(shard.takeAsked()).toEqual(['another']);
    shard.digest = 'b'.repeat(64);
    expect(await shard.jobs.run(taskOf(), never)).toMatchObject({ embedded: rowCount, current: 0 });
  });

  it('goes on where it was when its client left or its process died', async () => {
    const client = new AbortController();
    shard.onEmbed = async () => {
      if (shard.asked.length === 5) client.abort();
    };
    await expect(shard.jobs.run(taskOf(), client.signal)).rejects.toMatchObject({ code: 'CANCELLED' });
    const left = (await shard.wrong()).length;
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThan(rowCount);
    shard.onEmbed = async () => undefined;
    shard.takeAsked();
    shard.restart();
    expect(await shard.jobs.run(taskOf(), never)).toMatchObject({ embedded: left, current: rowCount - left });
    expect(shard.takeAsked()).toHaveLength(left);
    expect(await shard.wrong()).toEqual([]);
  });

  it('embeds rows again that are written while it runs, and overwrites nothing of them', async () => {
    let writes = 0;
    shard.onEmbed = async ({ texts }) => {
      if (texts[0] === ' ' || writes >= 30) return;
      // One behind, one before, and one of the very batch that is with the model; one that was not there, and one that goes.
      const own = Number(/\d+/.exec(texts[0] as string)?.[0]);
      for (const i of [0, 40, own]) await shard.put(keyOf(i), { text: `row ${i} after write ${writes}`, seen: writes++ });
      await shard.put(`new${writes}`, { text: `a new row ${writes}` });
      await shard.write((transaction) => void (transaction.get(books, keyOf(49)) && transaction.remove(books, keyOf(49))));
    };
    const outcome = await shard.jobs.run(taskOf(), never);
    expect(await shard.wrong()).toEqual([]);
    expect(outcome.again).toBeGreaterThan(0);
    expect(outcome.changing).toBe(0);
    const row = (await shard.rows())[0] as StoredDocument;
    expect(row['text']).toBe(`row 0 after write ${row['seen']}`);
    expect((await shard.rows()).some(({ _key }) => _key === keyOf(49))).toBe(false);
  });

  it('looks at all rows again when more were written than it remembers', async () => {
    shard.restart({ embedChangedKeysMax: 2 });
    let hasWritten = false;
    shard.onEmbed = async ({ texts }) => {
      if (hasWritten || !texts[0]?.includes('row 3')) return;
      hasWritten = true;
      for (let i = 0; i < 10; i++) await shard.put(keyOf(i), { text: `changed ${i}` });
    };
    await shard.jobs.run(taskOf(), never);
    expect(hasWritten).toBe(true);
    expect(await shard.wrong()).toEqual([]);
  });

  it('ends beside a writer that never rests, and tells how many rows it left', async () => {
    shard.restart({ embedRoundsMax: 3 });
    let writes = 0;
    shard.onEmbed = () => shard.put(keyOf(0), { text: `write ${writes++}` });
    expect(await shard.jobs.run(taskOf(), never)).toMatchObject({ rows: rowCount, changing: 1 });
    expect(await shard.wrong()).toEqual([keyOf(0)]);
  });

  it('costs no row its vector for another that has none: too long, no text, a text that is gone', async () => {
    await shard.put(keyOf(1), { text: 'word '.repeat(300) });
    await shard.put(keyOf(2), { text: ['a list'] });
    await shard.put(keyOf(3), { text: null });
    const first = await shard.jobs.run(taskOf(), never);
    expect(first).toMatchObject({ rows: rowCount, embedded: rowCount - 3, failed: 2, empty: 1 });
    expect(first.failures).toEqual([
      { key: keyOf(2), code: 'EMBED_INPUT_INVALID' },
      { key: keyOf(1), code: 'CONTEXT_LENGTH_EXCEEDED' },
    ]);
    await shard.put(keyOf(4), { text: null });
    const second = await shard.jobs.run(taskOf(`${query} OPTIONS {truncate: true}`), never);
    expect(second).toMatchObject({ embedded: 1, cleared: 1, failed: 1, cut: 1 });
    expect((await shard.rows())[4]).not.toHaveProperty('vector');
    expect((await shard.rows())[4]).not.toHaveProperty('vector_of');
  });

  it('asks an engine that is lost again after a while, and gives up what no engine can do', async () => {
    let failures = 3;
    shard.onEmbed = async () => {
      if (failures-- > 0) throw platformError('ENGINE_LOST', 'lost');
    };
    expect(await shard.jobs.run(taskOf(), never)).toMatchObject({ embedded: rowCount });
    await expect(shard.jobs.run(taskOf(`${query} OPTIONS {dimensions: 63}`), never)).rejects.toMatchObject({
      code: 'DIMENSIONS_NOT_SUPPORTED',
    });
    await expect(shard.jobs.run(taskOf(`${query} OPTIONS {size: 1}`), never)).rejects.toMatchObject({ code: 'EMBED_STATEMENT_INVALID' });
  });

  it('runs one statement at a time for an attribute, so that two ask for each text once, and is bounded', async () => {
    shard.restart({ embedJobsMax: 2 });
    const both = [shard.jobs.run(taskOf(query, 'a'), never), shard.jobs.run(taskOf(query, 'b'), never)];
    await expect(shard.jobs.run(taskOf(query, 'c'), never)).rejects.toMatchObject({ code: 'QUEUE_FULL' });
    expect((await Promise.all(both)).map(({ embedded }) => embedded)).toEqual([rowCount, 0]);
    expect(shard.takeAsked()).toHaveLength(rowCount);
  });

  it('tells how far it is, and how it ended (R38)', async () => {
    const seen: unknown[] = [];
    shard.onEmbed = async () => void seen.push(...shard.progress.list());
    await shard.jobs.run(taskOf(), never);
    expect(seen).toContainEqual(
      expect.objectContaining({ job: 'embed:1', kind: 'embed', state: 'running', done: 16, total: rowCount, unit: 'rows' }),
    );
    expect(shard.progress.list()).toMatchObject([
      { title: 'embed _system/books into vector', state: 'done', done: rowCount, total: rowCount },
    ]);
  });
});

describe('LLM EMBED … FOR in the background (R28)', () => {
  const settled = async (): Promise<void> => {
    while (shard.progress.list().some(({ state }) => state === 'running' || state === 'waiting')) await shard.toy.clock.sleep(50);
  };
  const noted = (): readonly string[] => new JobRecords({ store: shard.store }).list(10).map(({ id }) => id);

  it('goes on by itself after a restart until it is done, and is then forgotten', async () => {
    shard.onEmbed = async () => {
      if (shard.asked.length === 4) void shard.jobs.stop();
    };
    await shard.jobs.keep(taskOf());
    expect(noted()).toEqual(['embed:1']);
    await settled();
    expect(shard.progress.list()).toMatchObject([{ state: 'cancelled' }]);
    const left = (await shard.wrong()).length;
    expect(left).toBeGreaterThan(0);
    shard.onEmbed = async () => undefined;
    shard.takeAsked();
    shard.restart();
    await shard.jobs.resume();
    await settled();
    expect(await shard.wrong()).toEqual([]);
    expect(shard.takeAsked()).toHaveLength(left);
    expect(noted()).toEqual([]);
  });

  it('is one job however often it is asked for, waits for an engine that is away, and can be ended', async () => {
    shard.restart({ embedRetriesMax: 0 });
    let isAway = true;
    shard.onEmbed = async () => {
      if (isAway) throw platformError('ENGINE_LOST', 'lost');
    };
    await shard.jobs.keep(taskOf());
    await shard.jobs.keep(taskOf());
    await shard.toy.clock.sleep(20);
    expect(shard.progress.list()).toMatchObject([{ state: 'waiting', message: 'ENGINE_LOST' }]);
    expect(await shard.jobs.cancel('embed:2')).toBe(false);
    expect(await shard.jobs.cancel('embed:1')).toBe(true);
    await settled();
    expect([noted(), shard.progress.list()[0]?.state]).toEqual([[], 'cancelled']);
    isAway = false;
    await shard.jobs.keep(taskOf());
    await settled();
    expect(await shard.wrong()).toEqual([]);
  });

  it('is one job for the same statement, and one of its own for another text or other bind variables', async () => {
    const idOf = (text: string, bindVars: { readonly [name: string]: JsonValue } = {}): string =>
      keptJobId({ collection: books, into: 'vector', query: text, bindVars });
    expect(idOf(query, { a: 1, b: 2 })).toBe(idOf(query, { b: 2, a: 1 }));
    const texts = [query, `${query} OPTIONS {truncate: true}`, query.replace("'default'", "'other'"), query.replace('d.text', 'd.other')];
    expect(new Set([...texts.map((text) => idOf(text)), idOf(query, { a: 1 }), idOf(query, { a: 2 })]).size).toBe(6);
    await shard.put(keyOf(0), { text: 'word '.repeat(300) });
    const [whole, cut] = texts as [string, string];
    for (const text of [whole, cut, cut]) await shard.jobs.keep(taskOf(text, idOf(text)));
    expect(noted().toSorted()).toEqual([idOf(whole), idOf(cut)].toSorted());
    await settled();
    expect(shard.progress.list().map(({ state }) => state)).toEqual(['done', 'done']);
    expect((await shard.rows())[0]).toHaveProperty('vector'); // only the second cuts
    expect(noted()).toEqual([]);
  });

  it('is noted where it has a place and nowhere else: no error leaves a note behind, nor a place taken', async () => {
    shard.restart({ embedJobsMax: 1 });
    shard.store.isFull = true;
    const refused = [shard.jobs.keep(taskOf()), shard.jobs.keep(taskOf())];
    for (const one of refused) await expect(one).rejects.toMatchObject({ code: 'STORE_FULL' });
    await settled();
    expect([noted(), shard.takeAsked()]).toEqual([[], []]);
    shard.store.isFull = false;
    await shard.jobs.keep(taskOf());
    await expect(shard.jobs.keep(taskOf(query, 'embed:2'))).rejects.toMatchObject({ code: 'QUEUE_FULL' });
    expect(noted()).toEqual(['embed:1']);
    await settled();
    expect(await shard.wrong()).toEqual([]);
    await shard.jobs.stop();
    await expect(shard.jobs.keep(taskOf())).rejects.toMatchObject({ code: 'CANCELLED' });
    expect(noted()).toEqual([]);
  });

  it('that is cancelled while it is noted does not run, and one that is asked for then does', async () => {
    const first = shard.jobs.keep(taskOf());
    const cancelled = shard.jobs.cancel('embed:1');
    const second = shard.jobs.keep(taskOf());
    await Promise.all([first, second]);
    expect([await cancelled, noted()]).toEqual([true, ['embed:1']]);
    await settled();
    expect(
      shard.progress
        .list()
        .map(({ state }) => state)
        .toSorted(),
    ).toEqual(['cancelled', 'done']);
    expect([await shard.wrong(), noted()]).toEqual([[], []]);
  });

  it('stays noted where it cannot go on now, and is forgotten only where its statement is refused', async () => {
    const records = new JobRecords({ store: shard.store });
    const note = (task: EmbedTask): Promise<void> => records.put({ id: task.job, record: task as unknown as JsonValue });
    await note(taskOf());
    await note(taskOf('LLM EMBED', 'embed:refused'));
    await note(taskOf(`${query} OPTIONS {size: 1}`, 'embed:unknown option'));
    shard.restart({ embedJobsMax: 3 });
    await shard.jobs.stop();
    await shard.jobs.resume();
    expect(noted()).toEqual(['embed:1']);
    shard.restart({ embedJobsMax: 1 });
    const other = shard.jobs.run(taskOf(query, 'embed:2'), never);
    await shard.jobs.resume();
    await other;
    expect(noted()).toEqual(['embed:1']);
    const early = shard.logger.events.filter(({ event }) => event === 'embedding.not_resumed_yet');
    expect(early.map(({ fields }) => fields)).toMatchObject([{ code: 'CANCELLED' }, { code: 'QUEUE_FULL' }]);
    shard.restart();
    await shard.jobs.resume();
    await settled();
    expect(noted()).toEqual([]);
  });

  it('is given up where it would fail after every restart in the same way', async () => {
    await expect(shard.jobs.keep(taskOf('RETURN'))).rejects.toMatchObject({ code: 'AQL_PARSE' });
    await shard.jobs.keep(taskOf(`${query} OPTIONS {dimensions: 63}`));
    await settled();
    expect(shard.progress.list()).toMatchObject([{ state: 'failed', message: 'DIMENSIONS_NOT_SUPPORTED' }]);
    expect(noted()).toEqual([]);
    await new JobRecords({ store: shard.store }).put({ id: 'from another version', record: { version: 2 } });
    await shard.jobs.resume();
    expect(noted()).toEqual([]);
  });
});
