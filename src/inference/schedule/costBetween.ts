/** What a step of so many rows costs, ms. */
export interface KnownCost {
  readonly rows: number;
  readonly ms: number;
}

/**
 * The cost of a step of `rows` rows by what is known of others, a pure function: on the line between the two nearest; below all in
 * proportion to the smallest; above all that of the biggest. At the ends that is the least it can cost, so that a number of rows is tried
 * rather than never learnt. Undefined where nothing is known.
 */
export function costBetween(known: readonly KnownCost[], rows: number): number | undefined {
  const below = nearest(
    known.filter((cost) => cost.rows <= rows),
    rows,
  );
  const above = nearest(
    known.filter((cost) => cost.rows >= rows),
    rows,
  );
  if (below === undefined) return above && (above.ms * rows) / above.rows;
  if (above === undefined || above.rows === below.rows) return below.ms;
  return below.ms + ((above.ms - below.ms) * (rows - below.rows)) / (above.rows - below.rows);
}

const nearest = (costs: readonly KnownCost[], rows: number): KnownCost | undefined =>
  costs.reduce<KnownCost | undefined>(
    (best, cost) => (best === undefined || Math.abs(cost.rows - rows) < Math.abs(best.rows - rows) ? cost : best),
    undefined,
  );
