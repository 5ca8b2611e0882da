/** Which adapter group holds each sequence: null = the base model's, undefined = free. */
export type SequenceHolders = readonly (string | null | undefined)[];

/**
 * The free sequence that a request of a group should take, -1 where none is free. Rows of the base model are computed in one pass where
 * their ids follow each other (8 rows in two passes take 80 instead of 52 ms); those of adapters one by one, wherever they are. So the base
 * model's requests take ids beside each other, and those of adapters ids far from them.
 */
export function chooseSequence(holders: SequenceHolders, group: string | null): number {
  const idsWhere = (fits: (holder: string | null | undefined) => boolean): readonly number[] =>
    holders.flatMap((holder, id) => (fits(holder) ? [id] : []));
  const free = idsWhere((holder) => holder === undefined);
  const like = idsWhere((holder) => holder !== undefined && (holder === null) === (group === null));
  const busy = idsWhere((holder) => holder !== undefined);
  if (like.length > 0) return best(free, (id) => -distance(id, like));
  return busy.length === 0 ? (free[0] ?? -1) : best(free, (id) => distance(id, busy));
}

const distance = (id: number, others: readonly number[]): number => Math.min(...others.map((other) => Math.abs(other - id)));

/** The one of the greatest score; of equals the first. */
const best = (ids: readonly number[], score: (id: number) => number): number =>
  ids.reduce((chosen, id) => (chosen < 0 || score(id) > score(chosen) ? id : chosen), -1);
