/** Steps of work on texts, by their characters: some nanoseconds a step, as an element of an array takes. */
export const textSteps = {
  /** The runtime copies or searches it. */
  ofCopy: (characters: number): number => Math.floor(characters / 16),
  /** It is looked at character by character. */
  ofWalk: (characters: number): number => Math.floor(characters / 8),
} as const;
