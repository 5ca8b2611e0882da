import type { Range } from './Expression.js';

const last = 0x10ffff;

/** Sets of code points as sorted, disjoint ranges. */
export const codePoints = {
  all: [{ from: 0, to: last }] as readonly Range[],

  normalise(ranges: readonly Range[]): readonly Range[] {
    const merged: { from: number; to: number }[] = [];
    for (const { from, to } of [...ranges].sort((left, right) => left.from - right.from)) {
      const before = merged.at(-1);
      if (before !== undefined && from <= before.to + 1) before.to = Math.max(before.to, to);
      else merged.push({ from, to });
    }
    return merged;
  },

  complement(ranges: readonly Range[]): readonly Range[] {
    const left: Range[] = [];
    let from = 0;
    for (const range of codePoints.normalise(ranges)) {
      if (range.from > from) left.push({ from, to: range.from - 1 });
      from = range.to + 1;
    }
    return from <= last ? [...left, { from, to: last }] : left;
  },

  without(ranges: readonly Range[], removed: readonly Range[]): readonly Range[] {
    return codePoints.complement([...codePoints.complement(ranges), ...removed]);
  },

  contains: (ranges: readonly Range[], point: number): boolean => ranges.some(({ from, to }) => from <= point && point <= to),
};
