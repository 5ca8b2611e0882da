import type { Row } from './Block.js';

interface Head {
  row: Row;
  readonly rest: AsyncIterator<Row>;
}

/** Merges streams that are sorted by `order` into one; of equal rows those of the earlier stream come first. */
export async function* mergeSorted(
  streams: readonly AsyncIterable<Row>[],
  order: (left: Row, right: Row) => number,
): AsyncGenerator<Row, void, void> {
  const heads: Head[] = [];
  for (const stream of streams) {
    const rest = stream[Symbol.asyncIterator]();
    const first = await rest.next();
    if (!first.done) heads.push({ row: first.value, rest });
  }
  while (heads.length > 0) {
    const at = smallest(heads, order);
    const head = heads[at] as Head;
    yield head.row;
    const next = await head.rest.next();
    if (next.done) heads.splice(at, 1);
    else head.row = next.value;
  }
}

const smallest = (heads: readonly Head[], order: (left: Row, right: Row) => number): number => {
  let best = 0;
  for (let i = 1; i < heads.length; i++) if (order((heads[i] as Head).row, (heads[best] as Head).row) < 0) best = i;
  return best;
};
