import type { TrainingSequence } from '../platform/index.js';

/**
 * Cuts a batch, in its order, into passes of at most `tokensMax` rows, each sequence counted as long as the longest of its pass. A
 * sequence longer than that is a pass of its own.
 */
export function splitPasses(sequences: readonly TrainingSequence[], tokensMax: number): readonly (readonly TrainingSequence[])[] {
  const passes: TrainingSequence[][] = [];
  let longest = 0;
  for (const sequence of sequences) {
    const pass = passes.at(-1);
    const length = Math.max(longest, sequence.tokens.length - 1);
    if (pass !== undefined && (pass.length + 1) * length <= tokensMax) {
      pass.push(sequence);
      longest = length;
    } else {
      passes.push([sequence]);
      longest = sequence.tokens.length - 1;
    }
  }
  return passes;
}
