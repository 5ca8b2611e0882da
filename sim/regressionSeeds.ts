/**
 * Seeds that once found a fault, in the product or in the simulator: they run with the others of every test. A seed is a run of the
 * present simulator, so that what it found then is also kept as a test of its own where it was mended.
 */
export const regressionSeeds: readonly { readonly seed: number; readonly found: string }[] = [
  { seed: 169, found: 'two inserts of one key were both acknowledged: a commit validated on the state before another of the same moment' },
];
