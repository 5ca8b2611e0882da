import { describe, expect, it } from 'vitest';
import { parseByteCount } from './parseByteCount.js';

describe('parseByteCount', () => {
  it.each([
    ['4GiB', 4 * 2 ** 30],
    ['1.5 GB', 1.5e9],
    ['512mib', 512 * 2 ** 20],
    ['4096', 4096],
    [' 10 B ', 10],
  ])('%s is %d bytes', (text, bytes) => expect(parseByteCount(text)).toBe(bytes));

  it.each(['', '0', '-1', 'GiB', '4 gallons', '1e9', '0x10', '4GiB!', '99999999TiB', '0.1B'])('%j is refused', (text) =>
    expect(parseByteCount(text)).toBeUndefined(),
  );
});
