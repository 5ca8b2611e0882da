import { type InferNode, sizeOfValue } from '../../aql/index.js';
import type { JsonValue } from '../../base/index.js';
import { ahead } from '../ahead.js';
import type { Block, Operator, Row } from '../Block.js';
import { InferCalls } from '../inference/InferCalls.js';
import { runInferWindow } from '../inference/runInferWindow.js';
import type { MemoryAccount } from '../MemoryAccount.js';
import type { SequenceContext } from '../SequenceContext.js';

/** Rows that wait for their answers together, and their bytes. */
interface Window {
  readonly rows: readonly Row[];
  readonly bytes: number;
}

/** Of the memory limit: several windows and what is made of their answers fit into it. Larger rows are asked about fewer at a time. */
const windowShare = 1 / 8;

export interface InferSurroundings {
  /** Rows wanted where a LIMIT stands behind a filter on the answer. */
  readonly rowsWanted: number | undefined;
  /** Of what makes the rows, which goes on while they wait. */
  readonly memory: MemoryAccount;
  /** Ends what makes the rows. */
  readonly stop: () => void;
  /** The row that all rows of the sequence begin as: its values are accounted for outside. */
  readonly base: readonly JsonValue[];
}

/**
 * INFER over windows of rows: up to `batch.max_rows` (256) make one scatter, and the next window is read while the models answer.
 * `rowsWanted` makes the first window small and every next one twice as large, so that few rows are asked about in vain; then, and where
 * windows of other rows are waited for, nothing is read ahead, nor while memory is short. Rows that wait are accounted for.
 */
export function inferOperator(node: InferNode, context: SequenceContext, around: InferSurroundings): Operator {
  const calls = new InferCalls(node, context);
  const { rounds } = context;
  const { memory, rowsWanted, stop } = around;
  const answer = (rows: readonly Row[]): Promise<void> => runInferWindow(node, rows, calls, context);
  const rowsMaxOf = (window: readonly Row[]): number => calls.optionsOf(window[0] as Row).batch.max_rows;
  return async function* (input) {
    let isAhead = false;
    let passedBytes = 0;
    const hasRoom = (): boolean => {
      isAhead = memory.hasRoom;
      return isAhead;
    };
    const windows = windowsOf(input, calls, around);
    for await (const { rows, bytes } of rowsWanted === undefined && rounds === undefined ? ahead(windows, { hasRoom, stop }) : windows) {
      memory.release(passedBytes);
      await (rounds ? rounds.ask({ node, window: rows, rowsMax: rowsMaxOf(rows), answer }) : answer(rows));
      yield rows;
      await context.pacer.pace();
      // Beside a window that is being read the one before counts until that has come, whoever is faster.
      passedBytes = isAhead ? bytes : 0;
      if (!isAhead) memory.release(bytes);
    }
    memory.release(passedBytes);
  };
}

async function* windowsOf(
  input: AsyncIterable<Block>,
  calls: InferCalls,
  { rowsWanted, memory, base }: InferSurroundings,
): AsyncGenerator<Window, void, void> {
  let rowsMax = rowsWanted ?? Number.POSITIVE_INFINITY;
  let window = new GrowingWindow(memory, base);
  for await (const block of input)
    for (const row of block) {
      if (!window.add(row)) {
        yield window;
        window = new GrowingWindow(memory, base);
        window.add(row);
      }
      const full = Math.min(calls.optionsOf(window.rows[0] as Row).batch.max_rows, rowsMax);
      if (window.rows.length < full) continue;
      yield window;
      window = new GrowingWindow(memory, base);
      rowsMax *= 2;
    }
  if (window.rows.length > 0) yield window;
}

/** Takes rows while their bytes have room, at least one. A list or object that several of its rows refer to counts once. */
class GrowingWindow implements Window {
  readonly rows: Row[] = [];
  bytes = 0;
  readonly #memory: MemoryAccount;
  readonly #base: readonly JsonValue[];
  readonly #seen = new Set<JsonValue>();
  /** Of the first row, which counts in no share: it may bring what all of them refer to. */
  #firstBytes = 0;

  constructor(memory: MemoryAccount, base: readonly JsonValue[]) {
    this.#memory = memory;
    this.#base = base;
  }

  /** False: the row has no room beside the others. Error QUERY_MEMORY_LIMIT where it has none at all. */
  add(row: Row): boolean {
    const bytes = this.#bytesOf(row);
    const isFirst = this.rows.length === 0;
    if (!isFirst && this.bytes - this.#firstBytes + bytes > this.#memory.limit.limitBytes * windowShare) return false;
    this.#memory.holdMade(bytes);
    this.rows.push(row);
    this.bytes += bytes;
    if (isFirst) this.#firstBytes = bytes;
    return true;
  }

  #bytesOf(row: Row): number {
    let bytes = 0;
    for (const [variable, value] of row.entries()) {
      if (this.#base[variable] !== undefined || this.#seen.has(value)) continue;
      if (typeof value === 'object' && value !== null) this.#seen.add(value);
      bytes += sizeOfValue(value, this.#memory.limit.limitBytes);
    }
    return bytes;
  }
}
