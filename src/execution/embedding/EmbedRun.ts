import { type CompiledExpression, compileExpression } from '../../aql/index.js';
import { assert, type JsonValue, OstrakaError, type ShardId, toOstrakaError } from '../../base/index.js';
import type { Clock, ModelFacts } from '../../platform/index.js';
import type { ShardingManager } from '../../sharding/index.js';
import type { CollectionRef, DocumentStore, StoredDocument, Transaction } from '../../storage/index.js';
import { chunked } from '../chunked.js';
import { ChangedKeys } from './ChangedKeys.js';
import { EmbedCounts, type RowResult } from './EmbedCounts.js';
import type { EmbedOutcome } from './EmbedOutcome.js';
import { type EmbedRecipe, judgeRow, noteOf, type RowVerdict, type VectorPlace, vectorPlace } from './judgeRow.js';
import type { PlannedTask } from './planTask.js';
import { type RowContext, TextsOfRows } from './TextsOfRows.js';

export interface EmbedRunParts {
  readonly id: string;
  readonly shardId: ShardId;
  readonly task: PlannedTask;
  readonly collection: CollectionRef;
  readonly documents: DocumentStore;
  readonly sharding: ShardingManager;
  /** Of the model by its name, as this shard serves it. */
  readonly factsOf: (model: string) => ModelFacts | undefined;
  readonly clock: Clock;
  readonly context: RowContext;
  readonly onProgress: (progress: { readonly done: number; readonly total: number; readonly skipped: number }) => void;
  readonly onWait: (reason: string) => void;
}

/** A row to be changed; without a text the vector of the text it had goes. */
interface OpenRow {
  readonly key: string;
  readonly wanted: { readonly text: string; readonly digest: string } | undefined;
}

type Vectors = ReadonlyMap<string, readonly number[] | OstrakaError>;

interface Batch {
  readonly rows: readonly OpenRow[];
  readonly vectors: Promise<Vectors>;
}

/** Between two rests: less than a millisecond or two of JSON. */
const rowsTogether = 8;

/**
 * Gives the rows that this shard owns the vectors of their texts (R28, paper §IV-E), in batches that are each committed by themselves: what
 * is committed is not computed again, whoever dies. Never overwrites what somebody wrote meanwhile: a vector is only set where the row
 * still has the text it was made of, in the same transaction. Rows that are written while it runs are looked at again until there are none.
 */
export class EmbedRun {
  readonly #parts: EmbedRunParts;
  readonly #place: VectorPlace;
  readonly #textOf: CompiledExpression;
  readonly #counts = new EmbedCounts();
  readonly #changed: ChangedKeys;
  #recipe: EmbedRecipe = { model: '', dimensions: 0, normalize: true };
  #total = 0;
  #commits = 0;

  constructor(parts: EmbedRunParts) {
    const { node } = parts.task;
    this.#parts = parts;
    this.#place = vectorPlace(node.into);
    this.#textOf = compileExpression(node.text);
    this.#changed = new ChangedKeys({ keysMax: parts.context.options.embedChangedKeysMax });
  }

  /** Resolves when every row has the vector of the text it had at some moment of the last look. Ends with `signal` between two batches. */
  async run(): Promise<EmbedOutcome> {
    const { documents, collection } = this.#parts;
    const leave = documents.watch(collection.id, (key, writtenAt) => this.#changed.add(key, writtenAt));
    try {
      const texts = new TextsOfRows(this.#parts);
      this.#recipe = await texts.recipe();
      this.#total = await this.#countRows();
      await this.#embedAll(this.#scanned(), texts);
      this.#counts.firstLookEnded();
      await this.#follow(texts);
      return this.#counts.outcome(Math.min(this.#changed.size, this.#total));
    } finally {
      leave();
    }
  }

  async #follow(texts: TextsOfRows): Promise<void> {
    const { embedRoundsMax } = this.#parts.context.options;
    for (let round = 0; round < embedRoundsMax && (await this.#hasChanged()); round++) {
      const keys = this.#changed.take();
      await this.#embedAll(keys === undefined ? this.#scanned() : this.#listed(keys), texts);
    }
  }

  /** Of a write that is prepared here its client may know already that it is committed. */
  async #hasChanged(): Promise<boolean> {
    if (this.#changed.size > 0) return true;
    const transaction = await this.#begin();
    await transaction.ready(this.#parts.collection, { afterKey: undefined }, this.#signal);
    return this.#changed.size > 0;
  }

  /** Texts of some batches are with the model while another is committed, so that neither waits for the other. */
  async #embedAll(chunks: AsyncIterable<readonly StoredDocument[]>, texts: TextsOfRows): Promise<void> {
    const { embedAheadMax } = this.#parts.context.options;
    const stop = new AbortController();
    const signal = AbortSignal.any([this.#signal, stop.signal]);
    const ahead: Batch[] = [];
    try {
      for await (const rows of this.#batches(chunks)) {
        ahead.push({ rows, vectors: this.#ask(rows, texts, signal) });
        if (ahead.length > embedAheadMax) await this.#commit(ahead.shift() as Batch);
      }
      for (const batch of ahead) await this.#commit(batch);
    } finally {
      stop.abort();
    }
  }

  #ask(rows: readonly OpenRow[], texts: TextsOfRows, signal: AbortSignal): Promise<Vectors> {
    const asked = new Set(rows.flatMap(({ wanted }) => (wanted === undefined ? [] : [wanted.text])));
    const vectors = texts.vectors([...asked], this.#counts, signal);
    vectors.catch(() => undefined); // heard when its turn comes
    return vectors;
  }

  async *#batches(chunks: AsyncIterable<readonly StoredDocument[]>): AsyncGenerator<readonly OpenRow[], void, void> {
    const { embedRowsMax, embedCharactersMax } = this.#parts.context.options;
    let rows: OpenRow[] = [];
    let characters = 0;
    for await (const chunk of chunks) {
      for (const [i, document] of chunk.entries()) {
        if (i % rowsTogether === 0) await this.#parts.context.pacer.pace();
        const row = this.#openRow(document);
        if (row === undefined) continue;
        rows.push(row);
        characters += row.wanted?.text.length ?? 0;
        if (rows.length < embedRowsMax && characters < embedCharactersMax) continue;
        yield rows;
        [rows, characters] = [[], 0];
      }
      this.#tell();
    }
    if (rows.length > 0) yield rows;
  }

  #openRow(document: StoredDocument): OpenRow | undefined {
    const verdict = this.#judge(document);
    switch (verdict.kind) {
      case 'current':
        this.#counts.add(document._key, { kind: 'current' });
        return undefined;
      case 'empty':
        this.#counts.add(document._key, { kind: 'empty' });
        return undefined;
      case 'unfit':
        this.#counts.add(document._key, { kind: 'failed', code: 'EMBED_INPUT_INVALID' });
        return undefined;
      case 'surplus':
        return { key: document._key, wanted: undefined };
      case 'stale':
        return { key: document._key, wanted: verdict };
    }
  }

  #judge(document: StoredDocument): RowVerdict {
    const { context, task } = this.#parts;
    const row: JsonValue[] = [];
    row[task.node.document] = document;
    return judgeRow(document, this.#textOf(row, context.evaluation), { place: this.#place, recipe: this.#recipe });
  }

  /** A batch that meets other writers is tried again; after that its rows wait for the next look. */
  async #commit({ rows, vectors: asked }: Batch): Promise<void> {
    const vectors = await asked;
    const { embedConflictsMax } = this.#parts.context.options;
    for (let attempt = 0; attempt < embedConflictsMax; attempt++) {
      if (!(await this.#tryCommit(rows, vectors))) continue;
      this.#tell();
      return;
    }
    for (const { key } of rows) {
      this.#changed.add(key);
      this.#counts.add(key, left);
    }
  }

  async #tryCommit(rows: readonly OpenRow[], vectors: Vectors): Promise<boolean> {
    const { collection, documents } = this.#parts;
    const transaction = await this.#begin();
    await transaction.ready(collection, { keys: rows.map(({ key }) => key) }, this.#signal);
    const results: { readonly key: string; readonly result: RowResult }[] = [];
    for (const [i, row] of rows.entries()) {
      if (i % rowsTogether === 0) await this.#parts.context.pacer.pace();
      results.push({ key: row.key, result: this.#write(transaction, row, vectors) });
    }
    try {
      const committedAt = await documents.commit(transaction, null, this.#signal);
      for (const { key } of results) this.#changed.settle(key, committedAt);
    } catch (thrown) {
      if (toOstrakaError(thrown).code === 'WRITE_CONFLICT') return false;
      throw thrown;
    }
    for (const { key, result } of results) this.#counts.add(key, result);
    return true;
  }

  /** Sets or takes away a vector where the row is still as it was read. */
  #write(transaction: Transaction, { key, wanted }: OpenRow, vectors: Vectors): RowResult {
    const document = transaction.get(this.#parts.collection, key);
    const verdict = document && this.#judge(document);
    if (wanted === undefined) return verdict?.kind === 'surplus' ? this.#clear(transaction, key) : left;
    if (verdict?.kind !== 'stale' || verdict.digest !== wanted.digest) return left;
    const vector = vectors.get(wanted.text);
    assert(vector !== undefined, 'every text of a batch was asked for');
    if (vector instanceof OstrakaError) return { kind: 'failed', code: vector.code };
    return this.#set(transaction, key, { [this.#place.vector]: vector, [this.#place.madeOf]: noteOf(wanted.digest, this.#recipe) });
  }

  #clear(transaction: Transaction, key: string): RowResult {
    const patch = { [this.#place.vector]: null, [this.#place.madeOf]: null };
    transaction.update(this.#parts.collection, key, patch, { keepNull: false, mergeObjects: false });
    return { kind: 'cleared' };
  }

  /** A row that would be too large with its vector stays as it is, and does not stop the others. */
  #set(transaction: Transaction, key: string, patch: { readonly [name: string]: JsonValue }): RowResult {
    try {
      transaction.update(this.#parts.collection, key, patch, { keepNull: true, mergeObjects: false });
      return { kind: 'embedded' };
    } catch (thrown) {
      const { code } = toOstrakaError(thrown);
      if (code !== 'DOCUMENT_TOO_LARGE') throw thrown;
      return { kind: 'failed', code };
    }
  }

  async #countRows(): Promise<number> {
    const { collection, context } = this.#parts;
    let count = 0;
    let afterKey: string | undefined;
    do {
      await context.pacer.pace();
      const transaction = await this.#begin();
      await transaction.ready(collection, { afterKey }, this.#signal);
      const chunk = transaction.keys(collection, { ...this.#chunkLimits, afterKey });
      count += chunk.keys.filter((key) => this.#owns(key)).length;
      afterKey = chunk.lastKey;
    } while (afterKey !== undefined);
    return count;
  }

  /** Each chunk on a snapshot of its own: a job may take longer than old versions are kept. */
  async *#scanned(): AsyncGenerator<readonly StoredDocument[], void, void> {
    const { collection } = this.#parts;
    let afterKey: string | undefined;
    do {
      const transaction = await this.#begin();
      await transaction.ready(collection, { afterKey }, this.#signal);
      const chunk = transaction.scan(collection, { ...this.#chunkLimits, afterKey });
      yield chunk.documents.filter(({ _key }) => this.#owns(_key));
      afterKey = chunk.lastKey;
    } while (afterKey !== undefined);
  }

  async *#listed(keys: readonly string[]): AsyncGenerator<readonly StoredDocument[], void, void> {
    const { collection, context } = this.#parts;
    const own = keys.filter((key) => this.#owns(key));
    for (const part of chunked(own, context.options.embedScanRowsMax)) {
      const transaction = await this.#begin();
      await transaction.ready(collection, { keys: part }, this.#signal);
      yield part.flatMap((key) => transaction.get(collection, key) ?? []);
    }
  }

  get #chunkLimits() {
    const { embedScanRowsMax, scanBytesMax } = this.#parts.context.options;
    return { documentsMax: embedScanRowsMax, bytesMax: scanBytesMax };
  }

  #owns(key: string): boolean {
    const { collection, sharding, shardId } = this.#parts;
    return sharding.ring.ownerOf({ database: collection.database, collection: collection.name, key }) === shardId;
  }

  #begin(): Promise<Transaction> {
    return this.#parts.documents.begin({ id: `${this.#parts.id}:${this.#commits++}`, signal: this.#signal });
  }

  get #signal(): AbortSignal {
    return this.#parts.context.signal;
  }

  #tell(): void {
    const { done, skipped } = this.#counts;
    this.#parts.onProgress({ done, total: Math.max(this.#total, done), skipped });
  }
}

/** A row that is gone, that somebody has written since it was read and that is looked at again for it, or that another job was faster with. */
const left: RowResult = { kind: 'left' };
