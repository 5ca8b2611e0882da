import { codePoints } from './codePoints.js';
import type { Range } from './Expression.js';

const surrogates: Range = { from: 0xd800, to: 0xdfff };
const lengthLimits = [0x7f, 0x7ff, 0xffff];

/**
 * A set of characters as sequences of byte ranges, each the UTF-8 of some of them. A range is cut until all its continuation bytes are
 * free (0x80–0xbf) or all but the last byte are equal, so a range of the whole of Unicode becomes about ten sequences.
 */
export function utf8Sequences(ranges: readonly Range[]): readonly (readonly Range[])[] {
  const found: Range[][] = [];
  for (const range of codePoints.without(ranges, [surrogates])) cut(range, found);
  return found;
}

function cut(range: Range, found: Range[][]): void {
  const at = lengthLimits.find((limit) => range.from <= limit && range.to > limit) ?? cutInContinuation(range);
  if (at === undefined) {
    const to = encode(range.to);
    found.push(encode(range.from).map((byte, place) => ({ from: byte, to: to[place] as number })));
    return;
  }
  cut({ from: range.from, to: at }, found);
  cut({ from: at + 1, to: range.to }, found);
}

/** The last code point of the first part, when the range is to be cut within its continuation bytes. */
function cutInContinuation({ from, to }: Range): number | undefined {
  for (let place = 1; place < encode(from).length; place++) {
    const low = (1 << (6 * place)) - 1;
    if ((from & ~low) === (to & ~low)) continue;
    if ((from & low) !== 0) return from | low;
    if ((to & low) !== low) return (to & ~low) - 1;
  }
  return undefined;
}

function encode(point: number): number[] {
  if (point < 0x80) return [point];
  if (point < 0x800) return [0xc0 | (point >> 6), 0x80 | (point & 63)];
  if (point < 0x10000) return [0xe0 | (point >> 12), 0x80 | ((point >> 6) & 63), 0x80 | (point & 63)];
  return [0xf0 | (point >> 18), 0x80 | ((point >> 12) & 63), 0x80 | ((point >> 6) & 63), 0x80 | (point & 63)];
}
