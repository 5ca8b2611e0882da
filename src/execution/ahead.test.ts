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

const plenty = { hasRoom: () => true, stop: () => undefined };

describe('ahead', () => {
  it('gives all items in order and asks for one while the consumer has the one before', async () => {
    const { log, items } = counted(4);
    const seen: [number, number][] = [];
    for await (const item of ahead(items, plenty)) {
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
      for await (const item of ahead(counted(4, 2).items, plenty)) {
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
      for await (const _ of ahead(items, plenty)) break;
      await settle();
      expect(log).toEqual({ asked: 2, isEnded: true });
    }
  });

  it('tells what it reads ahead to stop, and ends only after it has', async () => {
    const log: string[] = [];
    let stop = (): void => undefined;
    async function* items(): AsyncGenerator<number> {
      yield 1;
      await new Promise<void>((resolve) => (stop = resolve));
      log.push('read');
      yield 2;
    }
    const options = { hasRoom: () => true, stop: () => void log.push('stop') };
    const reading = (async () => {
      for await (const _ of ahead(items(), options)) break;
      log.push('ended');
    })();
    await settle();
    expect(log).toEqual(['stop']);
    stop();
    await reading;
    expect(log).toEqual(['stop', 'read', 'ended']);
  });

  it('asks for nothing ahead while there is no room', async () => {
    const { log, items } = counted(3);
    let hasRoom = false;
    const seen: number[] = [];
    for await (const _ of ahead(items, { ...plenty, hasRoom: () => hasRoom })) {
      await settle();
      seen.push(log.asked);
      hasRoom = true;
    }
    expect(seen).toEqual([1, 3, 3]);
  });
});
