import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type PrefixKey, PrefixTree } from './PrefixTree.js';

const common = (left: Int32Array, right: Int32Array): number => {
  let count = 0;
  while (count < Math.min(left.length, right.length) && left[count] === right[count]) count++;
  return count;
};
// Few different tokens in runs, so that prefixes are shared often.
const tokens = fc
  .array(fc.record({ token: fc.nat({ max: 1 }), run: fc.integer({ min: 1, max: 40 }) }), { minLength: 1, maxLength: 5 })
  .map((runs) => Int32Array.from(runs.flatMap(({ token, run }) => new Array<number>(run).fill(token))));
const key = fc.record({ scope: fc.constantFrom('a', 'b'), tokens });

it('finds what a search through all entries finds, after any additions and removals', () => {
  const steps = fc.array(fc.record({ adds: fc.boolean(), key, place: fc.nat() }), { maxLength: 30 });
  fc.assert(
    fc.property(steps, key, (all, asked) => {
      const tree = new PrefixTree<PrefixKey>();
      const entries: PrefixKey[] = [];
      for (const { adds, key: added, place } of all) {
        if (adds || entries.length === 0) {
          entries.push(added);
          tree.add(added);
        } else tree.remove(entries.splice(place % entries.length, 1)[0] as PrefixKey);
      }
      const best = Math.max(0, ...entries.filter(({ scope }) => scope === asked.scope).map((entry) => common(entry.tokens, asked.tokens)));
      const found = tree.longest(asked.scope, asked.tokens);
      if (best < 16) expect(found).toBeUndefined();
      else {
        expect(found?.tokens).toBe(best);
        expect(common(found?.entry.tokens ?? new Int32Array(), asked.tokens)).toBe(best);
        expect(found?.entry.scope).toBe(asked.scope);
      }
    }),
  );
});

it('prefers the entry used last among equals, and keeps nothing of removed ones', () => {
  const tree = new PrefixTree<PrefixKey>();
  const shared = new Array<number>(20).fill(1);
  const [first, second] = [2, 3].map((end) => ({ scope: 's', tokens: Int32Array.from([...shared, end]) })) as [PrefixKey, PrefixKey];
  tree.add(first);
  tree.add(second);
  expect(tree.longest('s', Int32Array.from(shared))?.entry).toBe(second);
  tree.touch(first);
  expect(tree.longest('s', Int32Array.from(shared))?.entry).toBe(first);
  expect(tree.isKnownElsewhere('other', Int32Array.from(shared))).toBe(true);
  tree.remove(first);
  tree.remove(second);
  expect(tree.isKnownElsewhere('other', Int32Array.from(shared))).toBe(false);
});
