import { compileExpression, type GatherNode, type ModificationNode, type PlanNode, sizeOfValue } from '../aql/index.js';
import { assert, type ShardId } from '../base/index.js';
import type { ConsistentHashRing } from '../sharding/index.js';
import type { CollectionRef, StoredDocument, Transaction } from '../storage/index.js';
import { applyWrites, type DocumentWrite, type WriteOutcome } from './applyWrites.js';
import { type Block, blockRowsMax, type Row } from './Block.js';
import { chunked } from './chunked.js';
import { keysOf } from './keysOf.js';
import type { QueryPart, SequenceContext, Site } from './SequenceContext.js';

type Enumerate = Extract<PlanNode, { readonly kind: 'EnumerateCollection' }>;

/** Reading and writing on the shard that owns the documents. What another shard owns is never given out from here. */
export class ShardSite implements Site {
  readonly #transaction: Transaction;
  readonly #collection: CollectionRef;
  readonly #ring: ConsistentHashRing;
  readonly #shardId: ShardId;
  readonly #context: () => Pick<SequenceContext, 'signal' | 'stats' | 'options'>;

  constructor(parts: {
    readonly transaction: Transaction;
    readonly collection: CollectionRef;
    readonly ring: ConsistentHashRing;
    readonly shardId: ShardId;
    readonly context: () => Pick<SequenceContext, 'signal' | 'stats' | 'options'>;
  }) {
    this.#transaction = parts.transaction;
    this.#collection = parts.collection;
    this.#ring = parts.ring;
    this.#shardId = parts.shardId;
    this.#context = parts.context;
  }

  async *scan(node: Enumerate, input: AsyncIterable<Block>, part: QueryPart): AsyncGenerator<Block, void, void> {
    const keys = node.keys && compileExpression(node.keys);
    for await (const block of input)
      for (const row of block) {
        if (keys) yield* this.#listed(node, row, keysOf(keys(row, part.evaluation), this.#collection.name), part);
        else yield* this.#all(node, row, part);
      }
  }

  gather(_node: GatherNode): AsyncIterable<Block> {
    assert(false, 'a fragment has no exchange inside');
  }

  async write(node: ModificationNode, writes: readonly DocumentWrite[]): Promise<readonly WriteOutcome[]> {
    await this.#transaction.ready(this.#collection, { keys: writes.map(({ key }) => key) }, this.#context().signal);
    return applyWrites(this.#transaction, this.#collection, { kind: node.kind, options: node.options, writes });
  }

  /** In the order that a scan has. What is absent counts as read too: a transaction that looked for it conflicts with its insert. */
  async *#listed(node: Enumerate, row: Row, keys: readonly string[], { pacer, signal }: QueryPart): AsyncGenerator<Block, void, void> {
    const { stats } = this.#context();
    const own = keys.filter((key) => this.#owns(key)).sort((left, right) => (left < right ? -1 : 1));
    for (const part of chunked(own, blockRowsMax)) {
      await this.#transaction.ready(this.#collection, { keys: part }, signal);
      for (const found of this.#blocksOf(part)) {
        stats.scannedIndex += found.length;
        yield found.map((document) => withDocument(row, node, document));
        await pacer.pace();
      }
    }
  }

  /** What is there of the keys, no more at a time than a scan reads. */
  *#blocksOf(keys: readonly string[]): Generator<readonly StoredDocument[], void, void> {
    const bytesMax = this.#context().options.scanBytesMax;
    let found: StoredDocument[] = [];
    let bytes = 0;
    for (const key of keys) {
      const document = this.#transaction.get(this.#collection, key);
      if (document === undefined) continue;
      found.push(document);
      bytes += sizeOfValue(document, bytesMax);
      if (bytes < bytesMax) continue;
      yield found;
      [found, bytes] = [[], 0];
    }
    if (found.length > 0) yield found;
  }

  async *#all(node: Enumerate, row: Row, { pacer, signal }: QueryPart): AsyncGenerator<Block, void, void> {
    const { stats, options } = this.#context();
    let afterKey: string | undefined;
    do {
      await this.#transaction.ready(this.#collection, { afterKey }, signal);
      const chunk = this.#transaction.scan(this.#collection, { afterKey, documentsMax: blockRowsMax, bytesMax: options.scanBytesMax });
      const own = chunk.documents.filter(({ _key }) => this.#owns(_key));
      stats.scannedFull += own.length;
      if (own.length > 0) yield own.map((document) => withDocument(row, node, document));
      await pacer.pace();
      afterKey = chunk.lastKey;
    } while (afterKey !== undefined);
  }

  #owns(key: string): boolean {
    const { database, name: collection } = this.#collection;
    return this.#ring.ownerOf({ database, collection, key }) === this.#shardId;
  }
}

const withDocument = (row: Row, node: Enumerate, document: StoredDocument): Row => {
  const next = row.slice();
  next[node.variable] = document;
  return next;
};
