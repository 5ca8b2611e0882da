import { describe, expect, it } from 'vitest';
import { settle } from '../../test/support/ManualClock.js';
import { ahead } from './ahead.js';

const counted = (count: number, failAt = -1) => {
  const log = { asked: 0, isEnded: false };
  async function* items(): AsyncGenerator<number> {
    try {
      for (let i = 0; i < count; i++) {
        log.asked++;
        if (i === failAt) throw new Error(`item ${i}`);
        yield i;
      }
    } finally {
      log.isEnded = true;
    }
  }
  return { log, items: items() };
};

describe('ahead', () => {
  it('gives all items in order and asks for one while the consumer has the one before', async () => {
    const { log, items } = counted(4);
    const seen: [number, number][] = [];
    for await (const item of ahead(items)) {
      await settle();
      seen.push([item, log.asked]);
    }
    expect(seen).toEqual([
      [0, 2],
      [1, 3],
      [2, 4],
      [3, 4],
    ]);
    expect(log.isEnded).toBe(true);
  });

  it('a failure comes in its turn, after the items before it', async () => {
    const seen: number[] = [];
    const reading = (async () => {
      for await (const item of ahead(counted(4, 2).items)) {
        await settle();
        seen.push(item);
      }
    })();
    await expect(reading).rejects.toThrow('item 2');
    expect(seen).toEqual([0, 1]);
  });

  it('ends its source when the consumer stops, also over a failure that nobody asks for any more', async () => {
    for (const failAt of [-1, 1]) {
      const { log, items } = counted(4, failAt);
      for await (const _ of ahead(items)) break;
      await settle();
      expect(log).toEqual({ asked: 2, isEnded: true });
    }
  });
});
