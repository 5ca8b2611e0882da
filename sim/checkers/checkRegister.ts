/** One operation on one key. The value of a key that is absent is null. */
export interface RegisterOperation {
  readonly kind: 'read' | 'put' | 'insert' | 'update' | 'remove';
  /** What a write wrote; unique in the history. */
  readonly value: string | null;
  /** What came back: `done`, `refused` for the state it met (an insert on a present key, others on an absent one), or not known. */
  readonly outcome: 'done' | 'refused' | 'unknown';
  /** What a read saw. */
  readonly seen: string | null;
  readonly invokedMs: number;
  /** Infinity when unknown: it may take effect at any later time, or never. */
  readonly returnedMs: number;
}

export type RegisterVerdict =
  | { readonly kind: 'linearizable' }
  | { readonly kind: 'undecided' }
  /** `at`: the longest order that fits ends before one of these. */
  | { readonly kind: 'violation'; readonly at: readonly RegisterOperation[] };

/**
 * Whether the history of one key has an order in which every operation takes effect between its call and its answer and each saw what the
 * order says (Wing & Gong, with remembered states as Lowe's). Gives up as undecided after `stepsMax` steps.
 */
export function checkRegister(history: readonly RegisterOperation[], options: { readonly stepsMax: number }): RegisterVerdict {
  const operations = history
    .filter(({ kind, outcome }) => kind !== 'read' || outcome !== 'unknown')
    .sort((left, right) => left.invokedMs - right.invokedMs);
  const certain = operations.filter(({ outcome }) => outcome !== 'unknown').length;
  const done = operations.map(() => false);
  const seen = new Set<string>();
  let steps = 0;
  let deepest = -1;
  let stuckAt: readonly RegisterOperation[] = [];

  const candidatesFrom = (first: number): number[] => {
    const indexes: number[] = [];
    let endMs = Number.POSITIVE_INFINITY;
    for (let i = first; i < operations.length; i++) {
      const operation = operations[i] as RegisterOperation;
      if (operation.invokedMs > endMs) break;
      if (done[i]) continue;
      indexes.push(i);
      endMs = Math.min(endMs, operation.returnedMs);
    }
    const certainty = (i: number): number => (operations[i]?.outcome === 'unknown' ? 1 : 0);
    return indexes
      .filter((i) => (operations[i] as RegisterOperation).invokedMs <= endMs)
      .sort((left, right) => certainty(left) - certainty(right) || left - right);
  };

  const search = (state: string | null, certainDone: number, first: number): boolean => {
    if (certainDone === certain) return true;
    if (++steps > options.stepsMax) return false;
    let start = first;
    while (done[start]) start++;
    const name = `${start} ${done.slice(start).reduce((text, isDone, i) => (isDone ? `${text}${i},` : text), '')} ${state}`;
    if (seen.has(name)) return false;
    seen.add(name);
    const candidates = candidatesFrom(start);
    if (certainDone > deepest) {
      deepest = certainDone;
      stuckAt = candidates.map((i) => operations[i] as RegisterOperation);
    }
    for (const i of candidates) {
      const operation = operations[i] as RegisterOperation;
      const next = stateAfter(operation, state);
      if (next === undefined) continue;
      done[i] = true;
      if (search(next.state, certainDone + (operation.outcome === 'unknown' ? 0 : 1), start)) return true;
      done[i] = false;
    }
    return false;
  };

  if (search(null, 0, 0)) return { kind: 'linearizable' };
  return steps > options.stepsMax ? { kind: 'undecided' } : { kind: 'violation', at: stuckAt };
}

/** The state after the operation; undefined when it cannot have happened in `state`. */
const stateAfter = (operation: RegisterOperation, state: string | null): { readonly state: string | null } | undefined => {
  const { kind, value, outcome, seen } = operation;
  if (kind === 'read') return seen === state ? { state } : undefined;
  const isMet = kind === 'put' || (kind === 'insert') === (state === null);
  if (outcome === 'refused') return isMet ? undefined : { state };
  return isMet ? { state: value } : undefined;
};
