import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { settle } from '../../test/support/ManualClock.js';
import { AsyncQueue } from './AsyncQueue.js';
import { compareBytes } from './compareBytes.js';
import { compareValues } from './compareValues.js';
import { baseError } from './errors.js';
import type { JsonValue } from './JsonValue.js';
import { LruMap } from './LruMap.js';
import { raceAbort } from './raceAbort.js';
import { toBase64 } from './toBase64.js';
import { toOstrakaError } from './toOstrakaError.js';

describe('compareValues', () => {
  const value = fc.jsonValue({ maxDepth: 2 }).map((one) => one as JsonValue);

  it('orders null < bool < number < string < array < object, and strings with upper case first', () => {
    const sorted: JsonValue[] = [null, false, true, -1, 0, 2.5, '', 'A', 'a', 'B', 'ä', 'b', [], [1], [1, 2], {}, { a: 1 }];
    const order = [...sorted].reverse().sort(compareValues);
    expect(order.map((one) => JSON.stringify(one)).filter((text) => !['"ä"', '"B"', '"b"'].includes(text))).toEqual(
      sorted.map((one) => JSON.stringify(one)).filter((text) => !['"ä"', '"B"', '"b"'].includes(text)),
    );
    expect(compareValues('a', 'B')).toBeLessThan(0);
    expect(compareValues(undefined, null)).toBe(0);
    expect(compareValues([1], [1, null])).toBe(0);
    expect(compareValues({ a: null }, {})).toBe(0);
  });

  it('is a total order: antisymmetric and transitive', () => {
    fc.assert(
      fc.property(value, value, value, (a, b, c) => {
        expect(Math.sign(compareValues(a, b)) + Math.sign(compareValues(b, a))).toBe(0);
        expect(compareValues(a, a)).toBe(0);
        const [x, y, z] = [a, b, c].sort(compareValues) as [JsonValue, JsonValue, JsonValue];
        expect(compareValues(x, y) <= 0 && compareValues(y, z) <= 0 && compareValues(x, z) <= 0).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});

it('compareBytes orders as unsigned bytes, a prefix first', () => {
  fc.assert(
    fc.property(fc.uint8Array(), fc.uint8Array(), (left, right) => {
      expect(Math.sign(compareBytes(left, right))).toBe(Buffer.compare(left, right));
    }),
  );
});

it('toBase64 agrees with Buffer', () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      expect(toBase64(bytes)).toBe(Buffer.from(bytes).toString('base64'));
    }),
  );
});

it('LruMap keeps the entries that were used last', () => {
  const step = fc.record({ key: fc.nat(5), isSet: fc.boolean() });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4 }), fc.array(step), (entriesMax, steps) => {
      const map = new LruMap<number, number>({ entriesMax });
      let order: number[] = [];
      for (const [i, { key, isSet }] of steps.entries()) {
        if (isSet) map.set(key, i);
        expect(map.get(key) !== undefined).toBe(isSet || order.includes(key));
        if (isSet || order.includes(key)) order = [...order.filter((one) => one !== key), key].slice(-entriesMax);
        expect(map.size).toBe(order.length);
      }
    }),
  );
  expect(() => new LruMap({ entriesMax: 0 })).toThrow('room');
});

describe('AsyncQueue', () => {
  const readAll = async <Item>(queue: AsyncQueue<Item>): Promise<Item[]> => {
    const items: Item[] = [];
    for await (const item of queue) items.push(item);
    return items;
  };

  it('gives what was pushed in order, then ends; after that a push is nothing', async () => {
    const queue = new AsyncQueue<number>({ itemsMax: 9 });
    queue.push(1);
    const reading = readAll(queue);
    await settle();
    queue.push(2);
    queue.push(3);
    queue.close();
    queue.push(4);
    expect([await reading, queue.ended]).toEqual([[1, 2, 3], true]);
  });

  it('fails after what is queued', async () => {
    const queue = new AsyncQueue<number>({ itemsMax: 9 });
    queue.push(1);
    queue.fail(new Error('lost'));
    queue.close();
    const seen: number[] = [];
    const reading = (async () => {
      for await (const item of queue) seen.push(item);
    })();
    await expect(reading).rejects.toThrow('lost');
    expect(seen).toEqual([1]);
  });

  it('is full at itemsMax; who waits goes on at half', async () => {
    const queue = new AsyncQueue<number>({ itemsMax: 4 });
    for (let i = 0; i < 4; i++) queue.push(i);
    expect(() => queue.push(4)).toThrow(expect.objectContaining({ code: 'QUEUE_FULL' }));
    let isDrained = false;
    void queue.whenDrained().then(() => {
      isDrained = true;
    });
    const reader = queue[Symbol.asyncIterator]();
    await reader.next();
    await settle();
    expect(isDrained).toBe(false);
    await reader.next();
    await settle();
    expect(isDrained).toBe(true);
  });

  it('tells when its reader leaves, and lets waiting producers go', async () => {
    let returns = 0;
    const queue = new AsyncQueue<number>({ itemsMax: 2, onReturn: () => void returns++ });
    for (let i = 0; i < 2; i++) queue.push(i);
    const waiting = queue.whenDrained();
    for await (const _ of queue) break;
    await waiting;
    expect([returns, queue.ended, queue.length]).toEqual([1, true, 0]);
  });
});

describe('raceAbort', () => {
  it('gives the value, the failure, or the typed reason of the signal, whichever is first', async () => {
    const { signal } = new AbortController();
    await expect(raceAbort(Promise.resolve(1), signal)).resolves.toBe(1);
    await expect(raceAbort(Promise.reject(new Error('x')), signal)).rejects.toThrow('x');
    const controller = new AbortController();
    const racing = raceAbort(new Promise(() => undefined), controller.signal);
    controller.abort(baseError('DEADLINE_EXCEEDED', 'late'));
    await expect(racing).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    await expect(raceAbort(Promise.reject(new Error('unheard')), AbortSignal.abort())).rejects.toMatchObject({ code: 'CANCELLED' });
  });
});

it('toOstrakaError wraps once: ours unchanged, an abort as CANCELLED, anything else as INTERNAL with its cause', () => {
  const ours = baseError('QUEUE_FULL', 'full');
  expect(toOstrakaError(ours)).toBe(ours);
  expect(toOstrakaError(Object.assign(new Error('x'), { name: 'AbortError' })).code).toBe('CANCELLED');
  expect(toOstrakaError('text')).toMatchObject({ code: 'INTERNAL', cause: 'text' });
});
