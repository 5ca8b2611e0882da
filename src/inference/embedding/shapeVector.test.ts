import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dotProduct } from './dotProduct.js';
import { shapeVector } from './shapeVector.js';

const vector = fc
  .array(fc.float({ min: -8, max: 8, noNaN: true }), { minLength: 1, maxLength: 32 })
  .map((values) => Float32Array.from([1, ...values]));

describe('shapeVector (R23)', () => {
  it('keeps the first numbers, in the direction they have, of unit length unless told otherwise', () => {
    fc.assert(
      fc.property(vector, fc.nat(), (given, cut) => {
        const dimensions = 1 + (cut % given.length);
        const first = given.slice(0, dimensions);
        expect(shapeVector(given, { dimensions, normalize: false })).toEqual(first);
        const unit = shapeVector(given, { dimensions, normalize: true });
        expect(dotProduct(unit, unit)).toBeCloseTo(1, 5);
        expect(dotProduct(unit, first)).toBeCloseTo(Math.sqrt(dotProduct(first, first)), 3);
      }),
    );
  });

  it('refuses to invent a direction', () => {
    expect(() => shapeVector(new Float32Array(4), { dimensions: 4, normalize: true })).toThrow(/length/);
  });
});
