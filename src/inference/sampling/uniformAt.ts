const golden = 0x9e3779b97f4a7c15n;
const to64 = (value: bigint): bigint => BigInt.asUintN(64, value);

/**
 * The `index`-th number of a seeded stream, uniform in [0, 1) with 53 bits (SplitMix64). Addressed by index instead of drawn in turn:
 * a token's randomness depends on the seed and its place in the answer, on nothing else (R22).
 */
export function uniformAt(seed: number, index: number): number {
  let mixed = to64(BigInt(seed) + golden * BigInt(index + 1));
  mixed = to64((mixed ^ (mixed >> 30n)) * 0xbf58476d1ce4e5b9n);
  mixed = to64((mixed ^ (mixed >> 27n)) * 0x94d049bb133111ebn);
  return Number((mixed ^ (mixed >> 31n)) >> 11n) / 2 ** 53;
}
