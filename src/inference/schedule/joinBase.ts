import type { SequenceHolders } from './chooseSequence.js';

interface Run {
  readonly first: number;
  readonly last: number;
}

/** A move that joins the ids of the base model's requests, or undefined: the end of their shortest run goes beside a longer one. */
export function joinBase(holders: SequenceHolders): { readonly from: number; readonly to: number } | undefined {
  const runs = runsOf(holders).sort((left, right) => lengthOf(right) - lengthOf(left));
  const shortest = runs.at(-1);
  if (shortest === undefined || runs.length < 2) return undefined;
  const isFree = (id: number): boolean => id >= 0 && id < holders.length && holders[id] === undefined;
  const [to] = runs.slice(0, -1).flatMap(({ first, last }) => [last + 1, first - 1].filter(isFree));
  // The far end moves: what stays is one run still.
  return to === undefined ? undefined : { from: to < shortest.first ? shortest.last : shortest.first, to };
}

const lengthOf = ({ first, last }: Run): number => last - first + 1;

function runsOf(holders: SequenceHolders): Run[] {
  const runs: Run[] = [];
  for (const [id, holder] of holders.entries()) {
    if (holder !== null) continue;
    const open = runs.at(-1);
    if (open !== undefined && open.last === id - 1) runs[runs.length - 1] = { ...open, last: id };
    else runs.push({ first: id, last: id });
  }
  return runs;
}
