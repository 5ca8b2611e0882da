import fc from 'fast-check';
import { expect, it } from 'vitest';
import { compareValues, type JsonValue } from '../base/index.js';
import { canonicalKey } from './canonicalKey.js';

const small = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<JsonValue>(null, true, 0, -0, 1, '', 'a'),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'b', '__proto__'), tie('value'), { maxKeys: 3 }),
  ),
})).value;

it('is equal exactly for values that AQL holds equal', () =>
  fc.assert(
    fc.property(small, small, (left, right) => {
      expect(canonicalKey(left) === canonicalKey(right)).toBe(compareValues(left, right) === 0);
    }),
    { numRuns: 2000 },
  ));
