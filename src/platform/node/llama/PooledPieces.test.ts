import fc from 'fast-check';
import { expect, it } from 'vitest';
import { PooledPieces } from './PooledPieces.js';

const number = fc.integer({ min: -1000, max: 1000 });
const pieces = fc.array(fc.array(fc.tuple(number, number), { minLength: 1, maxLength: 9 }), { minLength: 1, maxLength: 6 });
type Row = readonly [number, number];
const pools = {
  mean: (rows: readonly Row[]) => [0, 1].map((i) => rows.reduce((sum, row) => sum + (row[i] as number), 0) / rows.length),
  cls: (rows: readonly Row[]) => rows[0] as Row,
  last: (rows: readonly Row[]) => rows.at(-1) as Row,
};

it.each(['mean', 'cls', 'last'] as const)('%s pooling of pieces is that of all their rows (R23)', (pooling) => {
  const pool = pools[pooling];
  fc.assert(
    fc.property(pieces, (parts) => {
      const pooled = new PooledPieces(pooling);
      for (const rows of parts) pooled.add(Float32Array.from(pool(rows)), rows.length);
      const expected = pool(parts.flat());
      expect(pooled.rows).toBe(parts.flat().length);
      for (const [i, value] of pooled.vector.entries()) expect(value).toBeCloseTo(expected[i] as number, 2);
    }),
  );
});
