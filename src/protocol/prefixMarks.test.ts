import fc from 'fast-check';
import { expect, it } from 'vitest';
import { prefixMarks } from './prefixMarks.js';

const digest = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map((value) => value.toString(16).padStart(16, '0'));

it('carries a mark of each digest, and none of a text of another form', () => {
  fc.assert(
    fc.property(fc.array(digest, { maxLength: 20 }), (digests) => {
      expect(prefixMarks.decode(prefixMarks.encode(digests))).toEqual(new Set(digests.map(prefixMarks.of)));
    }),
  );
  expect(prefixMarks.decode('no base64').size).toBe(0);
});
