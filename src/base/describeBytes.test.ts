import { expect, it } from 'vitest';
import { describeBytes } from './describeBytes.js';

it.each([
  [0, '0.0 MB'],
  [25_165_824, '25.2 MB'],
  [999_949_999, '999.9 MB'],
  [999_950_000, '1.0 GB'],
  [1_600_000_000, '1.6 GB'],
])('%i bytes are %s', (bytes, text) => {
  expect(describeBytes(bytes)).toBe(text);
});
