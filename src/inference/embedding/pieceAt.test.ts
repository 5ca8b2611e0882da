import fc from 'fast-check';
import { expect, it } from 'vitest';
import { pieceAt } from './pieceAt.js';

it('pieces follow each other to the end of a text, none longer than a pass and none half as long as another', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4000 }), fc.integer({ min: 1, max: 256 }), (length, rowsMax) => {
      const lengths: number[] = [];
      for (let from = 0; from < length; ) {
        const piece = pieceAt(from, { length, rowsMax });
        expect(piece.from).toBe(from);
        lengths.push(piece.to - from);
        from = piece.to;
      }
      expect(lengths.reduce((total, each) => total + each, 0)).toBe(length);
      expect(lengths.length).toBe(Math.ceil(length / rowsMax));
      expect(Math.max(...lengths)).toBeLessThanOrEqual(rowsMax);
      expect(Math.max(...lengths) - Math.min(...lengths)).toBeLessThanOrEqual(1);
    }),
  );
});
