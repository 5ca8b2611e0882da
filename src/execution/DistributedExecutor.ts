import { compileExpression, type GatherNode, type ModificationNode, sizeOfValue } from '../aql/index.js';
import { assert, type JsonValue, OstrakaError, type ShardId } from '../base/index.js';
import { type RemoteExecutor, rpcError } from '../rpc/index.js';
import type { ConsistentHashRing } from '../sharding/index.js';
import type { CollectionRef } from '../storage/index.js';
import type { DocumentWrite, WriteOutcome } from './applyWrites.js';
import { type Block, blockRowsMax, type Row } from './Block.js';
import { compareRows } from './compareRows.js';
import { FragmentStream } from './FragmentStream.js';
import type { FragmentFrame, FragmentRequest, WriteAnswer, WriteRequest } from './fragmentWire.js';
import { keysOf } from './keysOf.js';
import { mergeSorted } from './mergeSorted.js';
import { addStats } from './QueryStats.js';
import type { QueryTransaction } from './QueryTransaction.js';
import type { QueryPart, SequenceContext, Site } from './SequenceContext.js';

/** Limits that travel with every fragment. */
export interface FragmentLimits {
  readonly memoryLimitBytes: number;
  readonly warningsMax: number;
  readonly failOnWarning: boolean;
}

export interface DistributedExecutorParts {
  readonly executor: RemoteExecutor;
  readonly ring: ConsistentHashRing;
  readonly transaction: QueryTransaction;
  readonly collections: ReadonlyMap<string, CollectionRef>;
  readonly originRegister: number;
  readonly limits: FragmentLimits;
  /** Time the query has left, ms. */
  readonly remainingMs: () => number;
  readonly context: () => SequenceContext;
}

/** Whoever reads the rows of a gather: their blocks count there, and it can end them. */
type Reader = Pick<QueryPart, 'memory' | 'signal'>;

/** Rows that go to one shard. */
interface Target {
  readonly shardId: ShardId;
  readonly rows: Block;
}

/**
 * The coordinator's side of a query: sends fragments to the shards that own the documents and brings their rows back in order of shards,
 * merged, or summed; sends changes to the shards of their keys. Nothing is retried here; a shard that does not answer is its typed error
 * for the whole query (SHARD_UNAVAILABLE), never a part left out.
 */
export class DistributedExecutor implements Site {
  readonly #parts: DistributedExecutorParts;

  constructor(parts: DistributedExecutorParts) {
    this.#parts = parts;
  }

  scan(): AsyncIterable<Block> {
    assert(false, 'documents are scanned in fragments only');
  }

  async *gather(
    node: GatherNode,
    input: AsyncIterable<Block>,
    part: QueryPart & { readonly base: readonly JsonValue[] },
  ): AsyncGenerator<Block, void, void> {
    const compiled = node.keys && compileExpression(node.keys);
    const keys = compiled && ((row: Row): JsonValue => compiled(row, part.evaluation));
    const { merge } = node;
    let count = 0;
    for await (const block of input) {
      const targets = this.#split(node, this.#targets(node, block, keys));
      if (merge.kind === 'count') count += await this.#count(node, targets, part);
      else yield* blocksOf(this.#rows(node, targets, part), node, part);
    }
    if (merge.kind !== 'count') return;
    const row = part.base.slice();
    row[merge.variable] = count;
    yield [row];
  }

  async write(node: ModificationNode, writes: readonly DocumentWrite[]): Promise<readonly WriteOutcome[]> {
    const collection = this.#collection(node.collection);
    const byShard = new Map<ShardId, number[]>();
    for (const [i, { key }] of writes.entries()) {
      const shardId = this.#parts.ring.ownerOf({ database: collection.database, collection: collection.name, key });
      const indexes = byShard.get(shardId) ?? [];
      indexes.push(i);
      byShard.set(shardId, indexes);
    }
    const outcomes: WriteOutcome[] = [];
    const send = async ([shardId, indexes]: [ShardId, number[]]): Promise<void> => {
      const written = await this.#writeTo(
        shardId,
        node,
        indexes.map((i) => writes[i] as DocumentWrite),
      );
      for (const [k, i] of indexes.entries()) outcomes[i] = written[k] as WriteOutcome;
    };
    const sent = await Promise.allSettled([...byShard].map(send));
    const failed = sent.find((result) => result.status === 'rejected');
    if (failed) throw failed.reason;
    return outcomes;
  }

  #collection(name: string): CollectionRef {
    const collection = this.#parts.collections.get(name);
    assert(collection, 'a plan lists all its collections', { name });
    return collection;
  }

  /** All shards, or for each row those that own its keys. */
  #targets(node: GatherNode, block: Block, keys: ((row: Row) => JsonValue) | undefined): readonly Target[] {
    const { ring } = this.#parts;
    if (!keys) return ring.shards.map((shardId) => ({ shardId, rows: block }));
    const { database, name } = this.#collection(node.collection);
    const byShard = new Map<ShardId, Row[]>();
    for (const row of block) {
      const listed = keysOf(keys(row), name);
      const owners = new Set(listed.map((key) => ring.ownerOf({ database, collection: name, key })));
      for (const shardId of owners) {
        const rows = byShard.get(shardId);
        if (rows) rows.push(row);
        else byShard.set(shardId, [row]);
      }
    }
    return [...byShard].map(([shardId, rows]) => ({ shardId, rows }));
  }

  /**
   * Rows with large values go in several requests. Not where the fragment writes: it must not see what another part of the statement
   * wrote, and is refused as too large.
   */
  #split(node: GatherNode, targets: readonly Target[]): readonly Target[] {
    const { requestBytesMax } = this.#parts.context().options;
    if (node.writes || node.inputs.length === 0) return targets;
    const bytesOf = (row: Row): number =>
      sizeOfValue(
        node.inputs.map((variable) => row[variable] ?? null),
        requestBytesMax,
      );
    return targets.flatMap(({ shardId, rows }) => [...byBytes(rows, bytesOf, requestBytesMax)].map((part) => ({ shardId, rows: part })));
  }

  async #count(node: GatherNode, targets: readonly Target[], part: Reader): Promise<number> {
    let total = 0;
    const at = node.outputs.length === 0 ? undefined : 1;
    for await (const { values } of this.#shardRows(node, { targets, part }, (streams) => inOrder(streams)))
      if (at !== undefined) total += Number(values[at] ?? 0);
    return total;
  }

  #rows(node: GatherNode, targets: readonly Target[], part: Reader): AsyncIterable<Row> {
    const { merge } = node;
    const rowsOf = (stream: AsyncIterable<ShardRow>): AsyncIterable<Row> => joined(node, stream);
    const order = merge.kind === 'sorted' ? compareRows(merge.keys) : undefined;
    const combine = (streams: readonly AsyncIterable<ShardRow>[]): AsyncIterable<Row> =>
      order ? mergeSorted(streams.map(rowsOf), order) : rowsOf(inOrder(streams));
    return this.#shardRows(node, { targets, part }, combine);
  }

  /** Opens the fragment on every target and reads what `combine` makes of the answers. An error of any shard ends them all. */
  async *#shardRows<Item>(
    node: GatherNode,
    { targets, part }: { readonly targets: readonly Target[]; readonly part: Reader },
    combine: (streams: readonly AsyncIterable<ShardRow>[]) => AsyncIterable<Item>,
  ): AsyncGenerator<Item, void, void> {
    const stop = new AbortController();
    let failure: { readonly error: unknown } | undefined;
    const onError = (error: unknown): void => {
      failure ??= { error };
      stop.abort(error);
    };
    const memory = part.memory.fork();
    const open = (target: Target): FragmentStream =>
      this.#open(node, target, { signal: AbortSignal.any([part.signal, stop.signal]), memory, onError });
    const streams = targets.map(open);
    try {
      yield* combine(streams.map((stream, i) => unpacked(targets[i] as Target, stream)));
    } catch (error) {
      throw failure ? failure.error : error;
    } finally {
      for (const stream of streams) stream.close();
      memory.close();
      stop.abort(
        new OstrakaError({ code: 'CANCELLED', message: 'enough rows', httpStatus: 499, errorNum: 1500, retryable: false, data: {} }),
      );
    }
  }

  #open(node: GatherNode, target: Target, use: Reader & { readonly onError: (error: unknown) => void }): FragmentStream {
    const { executor, transaction, remainingMs } = this.#parts;
    const context = this.#parts.context();
    const frames = executor.stream({
      shardId: target.shardId,
      method: 'execution.fragment',
      body: this.#fragmentRequest(node, target) as unknown as JsonValue,
      signal: use.signal,
      deadlineMs: remainingMs(),
      idempotent: false,
      channel: 'bulk',
    });
    context.stats.httpRequests++;
    return new FragmentStream({
      frames: frames as unknown as AsyncIterable<FragmentFrame>,
      blocksQueuedMax: context.options.blocksQueuedMax,
      memory: use.memory,
      onFrame: (frame) => {
        transaction.answered(target.shardId);
        if (frame.kind !== 'end') return;
        addStats(context.stats, frame.stats);
        for (const { code, message } of frame.warnings) context.warnings.add(code, message);
      },
      onError: (error) => use.onError(asUnavailable(error, target.shardId)),
    });
  }

  #fragmentRequest(node: GatherNode, target: Target): FragmentRequest {
    const { transaction, ring, originRegister, limits } = this.#parts;
    const { evaluation, queryId } = this.#parts.context();
    return {
      queryId,
      epoch: ring.epoch,
      transaction: transaction.use(target.shardId, node.writes ? 'write' : 'read'),
      collection: this.#collection(node.collection),
      nodes: node.fragment,
      inputs: [...node.inputs],
      outputs: node.outputs,
      originRegister,
      rows: target.rows.map((row) => node.inputs.map((variable) => row[variable] ?? null)),
      nowMs: evaluation.nowMs,
      ...limits,
    };
  }

  async #writeTo(shardId: ShardId, node: ModificationNode, writes: readonly DocumentWrite[]): Promise<readonly WriteOutcome[]> {
    const { frameBytesMax } = this.#parts.context().options;
    const outcomes: WriteOutcome[] = [];
    for (const batch of byBytes(writes, ({ document }) => sizeOfValue(document, frameBytesMax), frameBytesMax))
      outcomes.push(...(await this.#writeBatch(shardId, node, batch)));
    return outcomes;
  }

  async #writeBatch(shardId: ShardId, node: ModificationNode, writes: readonly DocumentWrite[]): Promise<readonly WriteOutcome[]> {
    const { executor, transaction, ring, remainingMs } = this.#parts;
    const { signal, stats } = this.#parts.context();
    const body: WriteRequest = {
      epoch: ring.epoch,
      transaction: transaction.use(shardId, 'write'),
      collection: this.#collection(node.collection),
      kind: node.kind,
      options: node.options,
      writes: writes.map((write) => ({ ...write })),
      returns: { new: node.newVariable !== undefined, old: node.oldVariable !== undefined },
    };
    stats.httpRequests++;
    const call = {
      shardId,
      method: 'execution.write',
      body: body as unknown as JsonValue,
      signal,
      deadlineMs: remainingMs(),
      idempotent: false,
    };
    const answer = (await executor.call(call).catch((error: unknown) => {
      throw asUnavailable(error, shardId);
    })) as unknown as WriteAnswer;
    transaction.answered(shardId);
    if (answer.error) throw new OstrakaError(answer.error);
    return answer.outcomes;
  }
}

/** Rows of a shard that is not even asked are as unavailable as those of one that does not answer: one code for the caller. */
const asUnavailable = (error: unknown, shardId: ShardId): unknown => {
  if (!(error instanceof OstrakaError) || error.code !== 'BREAKER_OPEN') return error;
  return rpcError('SHARD_UNAVAILABLE', error.message, { data: { shard: shardId, mayHaveRun: false }, cause: error });
};

/** A row as a shard sent it, with the row of the coordinator that it belongs to. */
interface ShardRow {
  readonly origin: Row;
  readonly values: readonly JsonValue[];
}

async function* unpacked(target: Target, stream: FragmentStream): AsyncGenerator<ShardRow, void, void> {
  for await (const rows of stream.rows())
    for (const values of rows) {
      const origin = target.rows[Number(values[0])] ?? [];
      yield { origin, values };
    }
}

async function* inOrder(streams: readonly AsyncIterable<ShardRow>[]): AsyncGenerator<ShardRow, void, void> {
  for (const stream of streams) yield* stream;
}

async function* joined(node: GatherNode, stream: AsyncIterable<ShardRow>): AsyncGenerator<Row, void, void> {
  for await (const { origin, values } of stream) {
    const row = origin.slice();
    for (const [i, { variable }] of node.outputs.entries()) row[variable] = values[i + 1] ?? null;
    yield row;
  }
}

/** Of the memory limit: a block of one of several sequences that wait with theirs. */
const blockShare = 1 / 16;

/**
 * A sequence that waits for others keeps its block, however few of its rows are asked about: there blocks are counted, and cut by bytes.
 * A single row is counted by what waits with it.
 */
async function* blocksOf(rows: AsyncIterable<Row>, node: GatherNode, { memory, rounds }: QueryPart): AsyncGenerator<Block, void, void> {
  const bytesMax = memory.limit.limitBytes * blockShare;
  const bytesOf = (row: Row): number => node.outputs.reduce((sum, { variable }) => sum + sizeOfValue(row[variable], bytesMax), 0);
  let block: Row[] = [];
  let bytes = 0;
  const given = async function* (): AsyncGenerator<Block, void, void> {
    const held = block.length > 1 ? bytes : 0;
    memory.holdBytes(held);
    yield block;
    memory.release(held);
    block = [];
    bytes = 0;
  };
  for await (const row of rows) {
    block.push(row);
    if (rounds) bytes += bytesOf(row);
    if (block.length >= blockRowsMax || bytes >= bytesMax) yield* given();
  }
  if (block.length > 0) yield* given();
}

function* byBytes<Item>(items: readonly Item[], bytesOf: (item: Item) => number, bytesMax: number): Generator<Item[], void, void> {
  let batch: Item[] = [];
  let bytes = 0;
  for (const item of items) {
    const size = bytesOf(item);
    if (batch.length > 0 && bytes + size > bytesMax) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(item);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}
