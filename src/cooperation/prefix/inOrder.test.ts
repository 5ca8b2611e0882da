import fc from 'fast-check';
import { expect, it } from 'vitest';
import { inOrder } from './inOrder.js';

it('gives what each item makes in the order of the items, never more than so many at work', async () => {
  const waits = fc.array(fc.nat({ max: 5 }), { maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(waits, fc.integer({ min: 1, max: 5 }), async (items, aheadMax) => {
      let [running, most] = [0, 0];
      const work = async (turns: number): Promise<number> => {
        most = Math.max(most, ++running);
        for (let turn = 0; turn < turns; turn++) await Promise.resolve();
        running--;
        return turns;
      };
      const got: number[] = [];
      for await (const value of inOrder(items, aheadMax, work)) got.push(value);
      expect(got).toEqual(items);
      expect(most).toBeLessThanOrEqual(aheadMax);
    }),
  );
});

it('ends at the first that fails, whatever comes of those begun after it', async () => {
  const got: number[] = [];
  const reading = (async () => {
    for await (const value of inOrder([1, 2, 3, 4], 3, async (item) => (item >= 2 ? Promise.reject(new Error(`item ${item}`)) : item)))
      got.push(value);
  })();
  await expect(reading).rejects.toThrow('item 2');
  expect(got).toEqual([1]);
});

it('gives what was begun before the items themselves failed', async () => {
  async function* items() {
    yield 1;
    yield 2;
    throw new Error('cut');
  }
  const got: number[] = [];
  const reading = (async () => {
    for await (const value of inOrder(items(), 8, async (item) => item)) got.push(value);
  })();
  await expect(reading).rejects.toThrow('cut');
  expect(got).toEqual([1, 2]);
});
