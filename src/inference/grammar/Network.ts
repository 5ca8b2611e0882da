/** Index of the one node at which a rule ends. */
export const endNode = 0;

export type NetworkNode =
  | { readonly kind: 'end' }
  /** `set`: index into `Network.sets`. */
  | { readonly kind: 'bytes'; readonly set: number; readonly to: number }
  | { readonly kind: 'split'; readonly to: readonly number[] }
  /** Reads the rule, then goes on at `to`. */
  | { readonly kind: 'call'; readonly rule: number; readonly to: number };

/** A grammar as a recursive transition network: each rule is an automaton whose arcs are bytes or other rules. */
export interface Network {
  readonly nodes: readonly NetworkNode[];
  /** First node of each rule. */
  readonly starts: readonly number[];
  readonly root: number;
  /** Bytes that no set tells apart are one class: 256 entries. */
  readonly classOf: Uint8Array;
  readonly classCount: number;
  /** One byte a class: 1 = in the set. */
  readonly sets: readonly Uint8Array[];
  /**
   * How many rules must be opened at once, beside those that are, to get from a node to the end of its rule; infinite = impossible. An
   * automaton that keeps depth + need within a bound has no dead ends.
   */
  readonly need: readonly number[];
}
