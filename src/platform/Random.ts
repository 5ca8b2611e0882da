/** Randomness. Under simulation seeded; `fork` gives an independent stream, so that a new call in one part does not shift another. */
export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
  /** Uniform unsigned 32-bit integer. */
  uint32(): number;
  fork(label: string): Random;
}
