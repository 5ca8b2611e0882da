import fc from 'fast-check';
import { expect, it } from 'vitest';
import { PromptLookup } from './PromptLookup.js';

it('drafts what followed the newest three tokens the last time they stood together', () => {
  const lookup = new PromptLookup([1, 2, 3, 4, 5, 9, 1, 2, 3, 6, 7]);
  expect(lookup.draft(4)).toEqual([]);
  for (const token of [1, 2, 3]) lookup.push(token);
  expect(lookup.draft(4)).toEqual([6, 7, 1, 2]);
  expect(lookup.draft(1)).toEqual([6]);
  lookup.push(4);
  expect(lookup.draft(9)).toEqual([5, 9, 1, 2, 3, 6, 7, 1, 2]);
  expect(lookup.draft(13)).toEqual([5, 9, 1, 2, 3, 6, 7, 1, 2, 3, 4, 5, 9]);
});

it('goes on round the period of a text that repeats itself', () => {
  const lookup = new PromptLookup([4, 4, 4, 4]);
  expect(lookup.draft(5)).toEqual([4, 4, 4, 4, 4]);
  expect(new PromptLookup([1, 2, 1, 2, 1, 2]).draft(5)).toEqual([1, 2, 1, 2, 1]);
  expect(lookup.draft(0)).toEqual([]);
});

it('finds what a search from behind finds, however the text has grown', () => {
  const token = fc.nat({ max: 3 });
  fc.assert(
    fc.property(
      fc.array(token, { maxLength: 40 }),
      fc.array(token, { maxLength: 40 }),
      fc.integer({ min: 1, max: 8 }),
      (prompt, answer, most) => {
        const lookup = new PromptLookup(prompt);
        const all = [...prompt];
        for (const next of answer) {
          lookup.push(next);
          all.push(next);
          const end = all.length;
          const isSame = (at: number): boolean => [1, 2, 3].every((back) => all[at - back] === all[end - back]);
          const places = Array.from({ length: Math.max(0, end - 3) }, (_, place) => end - 1 - place).filter((at) => at >= 3 && isSame(at));
          const [found] = end < 3 ? [] : places;
          const goesOn = (from: number, place: number): number => all[from + (place % (end - from))] as number;
          expect(lookup.draft(most)).toEqual(found === undefined ? [] : Array.from({ length: most }, (_, place) => goesOn(found, place)));
        }
      },
    ),
  );
});
