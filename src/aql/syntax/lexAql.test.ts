import { expect, it } from 'vitest';
import { parseAql } from '../parseAql.js';

it('refuses a whole number beyond 2^53 at its place, and takes the largest that is exact', () => {
  expect(() => parseAql('RETURN 9007199254740993')).toThrowError(
    expect.objectContaining({ errorNum: 1501, message: expect.stringContaining('1:8') }),
  );
  expect(parseAql('RETURN 9007199254740991')).toBeDefined();
  expect(parseAql('RETURN 1e300')).toBeDefined();
});
