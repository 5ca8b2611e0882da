import type { SequenceHolders } from './chooseSequence.js';

interface Run {
  readonly first: number;
  readonly last: number;
}

/** A move that joins the ids of a group, or undefined: the end of its shortest run goes beside its longest. */
export function joinGroup(holders: SequenceHolders): { readonly from: number; readonly to: number } | undefined {
  for (const group of new Set(holders)) {
    if (group === undefined) continue;
    const runs = runsOf(holders, group).sort((left, right) => lengthOf(right) - lengthOf(left));
    const shortest = runs.at(-1);
    if (shortest === undefined || runs.length < 2) continue;
    const to = runs.slice(0, -1).flatMap(({ first, last }) => [last + 1, first - 1].filter((id) => isFree(holders, id)));
    const [nearest] = to;
    if (nearest !== undefined) return { from: farEnd(shortest, nearest), to: nearest };
  }
  return undefined;
}

const isFree = (holders: SequenceHolders, id: number): boolean => id >= 0 && id < holders.length && holders[id] === undefined;

const lengthOf = ({ first, last }: Run): number => last - first + 1;

/** What moves leaves no new gap in its run. */
const farEnd = ({ first, last }: Run, to: number): number => (to < first ? last : first);

function runsOf(holders: SequenceHolders, group: string | null): Run[] {
  const runs: Run[] = [];
  for (const [id, holder] of holders.entries()) {
    if (holder !== group) continue;
    const open = runs.at(-1);
    if (open !== undefined && open.last === id - 1) runs[runs.length - 1] = { ...open, last: id };
    else runs.push({ first: id, last: id });
  }
  return runs;
}
