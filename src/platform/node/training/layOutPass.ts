import type { TrainingSequence } from '../../index.js';

/** Sequences side by side, each padded at its end to the longest: with causal attention no token sees what is behind it. */
export interface PassLayout {
  readonly sequences: number;
  /** Positions of a sequence. Its last token is only ever a target. */
  readonly positions: number;
  readonly tokens: Int32Array;
  readonly positionIds: Int32Array;
  /** Rows whose next token belongs to an answer, and that token. */
  readonly targetRows: Int32Array;
  readonly targetTokens: Int32Array;
}

/** Lays token ids out as the rows of one pass. */
export function layOutPass(sequences: readonly TrainingSequence[]): PassLayout {
  const positions = Math.max(...sequences.map(({ tokens }) => tokens.length - 1));
  const rows = sequences.length * positions;
  const tokens = new Int32Array(rows);
  const targets = sequences.flatMap((sequence, index) => {
    const from = index * positions;
    tokens.set(sequence.tokens.subarray(0, -1), from);
    const answer = sequence.tokens.subarray(sequence.promptTokens);
    return Array.from(answer, (token, i) => ({ row: from + sequence.promptTokens - 1 + i, token }));
  });
  return {
    sequences: sequences.length,
    positions,
    tokens,
    positionIds: Int32Array.from({ length: rows }, (_, row) => row % positions),
    targetRows: Int32Array.from(targets, ({ row }) => row),
    targetTokens: Int32Array.from(targets, ({ token }) => token),
  };
}
