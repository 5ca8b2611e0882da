import { attributeOf, type GatherNode, type OpenObject, setOwn, sizeOfValue } from '../aql/index.js';
import { assert, isObject, type JsonValue, OstrakaError, type ShardId } from '../base/index.js';
import type { Clock, Random } from '../platform/index.js';
import type { ShardingManager } from '../sharding/index.js';
import { applyWrites, type DocumentWrite, type WriteOutcome } from './applyWrites.js';
import type { Block, Row } from './Block.js';
import type { FragmentFrame, FragmentRequest, TransactionJson, WriteAnswer, WriteRequest } from './fragmentWire.js';
import { KeyGenerator } from './KeyGenerator.js';
import { openContext } from './openContext.js';
import type { ExecutionOptions } from './options.js';
import type { QueryMemory } from './QueryMemory.js';
import type { ModelAccess, SequenceContext } from './SequenceContext.js';
import { SequenceRunner } from './SequenceRunner.js';
import { ShardSite } from './ShardSite.js';
import type { ShardTransactions } from './ShardTransactions.js';
import type { TurnPart, Turns } from './Turns.js';

/** What a fragment's context is made of, besides its request. */
export interface FragmentRunnerParts {
  readonly shardId: ShardId;
  readonly transactions: ShardTransactions;
  readonly sharding: ShardingManager;
  readonly models: ModelAccess;
  readonly clock: Clock;
  /** Shared with all other work of the shard. */
  readonly turns: Turns;
  readonly random: Random;
  readonly options: ExecutionOptions;
  /** Shared with the queries that this shard coordinates. */
  readonly queryMemory: QueryMemory;
}

/** Of the memory limit: one frame. */
const frameShare = 1 / 64;

/**
 * Runs fragments of queries over the documents this shard owns, inside the local part of the query's transaction (R28: EMBED of a
 * document's text runs here, before the writes of the fragment). Errors: WRONG_EPOCH, TRANSACTION_ABORTED, those of operators and store.
 */
export class FragmentRunner {
  readonly #parts: FragmentRunnerParts;
  readonly #keys: KeyGenerator;

  constructor(parts: FragmentRunnerParts) {
    this.#parts = parts;
    this.#keys = new KeyGenerator(parts);
  }

  async *run(request: FragmentRequest, signal: AbortSignal): AsyncGenerator<FragmentFrame, void, void> {
    const part: TurnPart = { owner: request };
    await this.#parts.turns.rest(part, signal);
    this.#parts.sharding.checkEpoch(request.epoch);
    const context = await this.#context(request, part, signal);
    const held = this.#parts.transactions.hold(request.transaction);
    try {
      yield* this.#rows(request, context);
    } finally {
      held.release();
      context.memory.limit.end();
    }
    context.stats.peakMemoryUsage = context.memory.limit.peakBytes;
    await this.#demandOpen(request.transaction, signal);
    yield { kind: 'end', stats: context.stats, warnings: context.warnings.all };
  }

  /** A batch of writes by key. All of it, or with an error the transaction is to be aborted. */
  async write(request: WriteRequest, signal: AbortSignal): Promise<WriteAnswer> {
    this.#parts.sharding.checkEpoch(request.epoch);
    const transaction = await this.#parts.transactions.open(request.transaction, signal);
    const { kind, options, returns } = request;
    const writes = request.writes as unknown as readonly DocumentWrite[];
    await transaction.ready(request.collection, { keys: writes.map(({ key }) => key) }, signal);
    try {
      const outcomes = applyWrites(transaction, request.collection, { kind, options, writes });
      return { outcomes: outcomes.map((outcome) => trimmed(outcome, returns)) };
    } catch (error) {
      if (error instanceof OstrakaError) return { outcomes: [], error: error.toJson() };
      throw error;
    }
  }

  async touch(transaction: TransactionJson, signal: AbortSignal): Promise<void> {
    await this.#parts.transactions.open(transaction, signal);
  }

  async #context(request: FragmentRequest, part: TurnPart, signal: AbortSignal): Promise<SequenceContext> {
    const { shardId, sharding } = this.#parts;
    const transaction = await this.#parts.transactions.open(request.transaction, signal);
    return openContext({
      ...this.#parts,
      adapters: undefined,
      embedRows: undefined,
      part,
      queryId: `${request.queryId}@${shardId}`,
      site: (context) => new ShardSite({ transaction, collection: request.collection, ring: sharding.ring, shardId, context }),
      limits: request,
      nowMs: request.nowMs,
      signal,
    });
  }

  async *#rows(request: FragmentRequest, context: SequenceContext): AsyncGenerator<FragmentFrame, void, void> {
    const { originRegister } = request;
    const runner = new SequenceRunner(context, this.#keys);
    const rows = request.rows.map((values, i) => inputRow(request.inputs, values, { register: originRegister, index: i }));
    for await (const block of runner.rows(request.nodes, blocksOf(rows), [])) {
      yield* this.#frames(
        block.map((row) => outputRow(request.outputs, row, originRegister)),
        request.memoryLimitBytes,
      );
    }
  }

  /** A transaction dropped while the fragment ran has lost its writes; the coordinator must not commit it. */
  async #demandOpen(transaction: TransactionJson, signal: AbortSignal): Promise<void> {
    if (transaction.joins) await this.#parts.transactions.open({ ...transaction, isKnown: true }, signal);
  }

  /**
   * Blocks cut by bytes as well as rows, so that no frame of large documents stalls the connection, and the coordinator has memory for some
   * of every shard.
   */
  *#frames(rows: readonly (readonly JsonValue[])[], memoryLimitBytes: number): Generator<FragmentFrame, void, void> {
    let part: (readonly JsonValue[])[] = [];
    let bytes = 0;
    const frameBytesMax = Math.min(this.#parts.options.frameBytesMax, memoryLimitBytes * frameShare);
    for (const row of rows) {
      const rowBytes = sizeOfValue(row, memoryLimitBytes);
      if (part.length > 0 && bytes + rowBytes > frameBytesMax) {
        yield { kind: 'block', rows: part, bytes };
        part = [];
        bytes = 0;
      }
      part.push(row);
      bytes += rowBytes;
    }
    if (part.length > 0) yield { kind: 'block', rows: part, bytes };
  }
}

const inputRow = (
  inputs: readonly number[],
  values: readonly JsonValue[],
  origin: { readonly register: number; readonly index: number },
): Row => {
  assert(values.length === inputs.length, 'a fragment row has a value for every input');
  const row: Row = [];
  for (const [i, variable] of inputs.entries()) row[variable] = values[i] as JsonValue;
  row[origin.register] = origin.index;
  return row;
};

const outputRow = (outputs: GatherNode['outputs'], row: Row, originRegister: number): readonly JsonValue[] => [
  row[originRegister] ?? 0,
  ...outputs.map(({ variable, projections }) => projected(row[variable] ?? null, projections)),
];

const projected = (value: JsonValue, projections: readonly string[] | undefined): JsonValue => {
  if (projections === undefined || !isObject(value)) return projections === undefined ? value : null;
  const kept: OpenObject = {};
  for (const name of projections) setOwn(kept, name, attributeOf(value, name));
  return kept;
};

const trimmed = (outcome: WriteOutcome, returns: WriteRequest['returns']): WriteOutcome =>
  outcome.kind === 'written' ? { kind: 'written', new: returns.new ? outcome.new : null, old: returns.old ? outcome.old : null } : outcome;

async function* blocksOf(rows: readonly Row[]): AsyncGenerator<Block, void, void> {
  if (rows.length > 0) yield rows;
}
