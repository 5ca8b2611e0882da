import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RequestQueue, type Waiting } from './RequestQueue.js';

const waiting = (priority: Waiting['priority'], waitingSinceMs: number, owner = ''): Waiting => {
  return { priority, waitingSinceMs, owner, begun: false };
};
const open = (requestsMax = 8): RequestQueue<Waiting> => new RequestQueue({ requestsMax, ageingMs: 1000, ownersMax: 16 });

const take = (queue: RequestQueue<Waiting>, nowMs: number, rows = 0): Waiting | undefined => {
  const first = queue.first(nowMs, true);
  if (first === undefined) return undefined;
  queue.admit(first, nowMs);
  queue.shares.charge(first.owner, rows);
  return first;
};

describe('RequestQueue', () => {
  it('serves the highest priority first, and the older of equals', () => {
    const queue = open();
    const [low, first, second, critical] = [waiting('low', 0), waiting('normal', 0), waiting('normal', 0), waiting('critical', 0)];
    for (const request of [low, first, second, critical]) queue.push(request);
    expect([1, 2, 3, 4, 5].map(() => take(queue, 0))).toEqual([critical, first, second, low, undefined]);
  });

  it('lets waiting count as priority, so that nobody starves', () => {
    const queue = open();
    const low = waiting('low', 0);
    queue.push(low);
    queue.push(waiting('critical', 2500));
    expect(take(queue, 2500)).toMatchObject({ priority: 'critical' });
    queue.push(waiting('critical', 3500));
    expect(take(queue, 3500)).toBe(low);
  });

  it('is bounded, and forgets what is removed', () => {
    const queue = open(1);
    const request = waiting('normal', 0);
    queue.push(request);
    expect(() => queue.push(waiting('critical', 0))).toThrow(expect.objectContaining({ code: 'QUEUE_FULL', retryable: true }));
    expect(queue.remove(request)).toBe(true);
    expect(queue.remove(request)).toBe(false);
    expect(queue.length).toBe(0);
  });

  it('lets only those go on that have begun when no further one may begin', () => {
    const queue = open();
    queue.push(waiting('critical', 0));
    expect(queue.first(0, false)).toBeUndefined();
    const suspended = { ...waiting('low', 5), begun: true };
    queue.pushBack(suspended);
    expect(queue.first(5, false)).toBe(suspended);
  });

  it('does not let a thousand old requests of one owner stand before the new one of another', () => {
    const queue = open(1000);
    for (let index = 0; index < 1000; index++) queue.push(waiting('normal', 0, 'many'));
    for (let nowMs = 0; nowMs < 20_000; nowMs += 500) take(queue, nowMs, 100);
    const single = waiting('normal', 20_000, 'few');
    queue.push(single);
    const served = [take(queue, 20_000, 100), take(queue, 20_500, 100), take(queue, 21_000, 100)];
    expect(served).toContain(single);
  });

  it('gives owners that always have something waiting equal shares, whatever they ask for and however often', () => {
    const owners = fc.uniqueArray(fc.record({ name: fc.constantFrom('a', 'b', 'c', 'd'), rows: fc.integer({ min: 10, max: 400 }) }), {
      selector: ({ name }) => name,
      minLength: 2,
    });
    fc.assert(
      fc.property(owners, (all) => {
        const queue = open(1000);
        const rowsOf = new Map<string, number>(all.map(({ name, rows }) => [name, rows]));
        for (const { name } of [...all, ...all]) queue.push(waiting('normal', 0, name));
        const had = new Map<string, number>(all.map(({ name }) => [name, 0]));
        for (let turn = 0; turn < 400; turn++) {
          const { owner } = take(queue, turn, 0) as Waiting;
          const rows = rowsOf.get(owner) as number;
          queue.shares.charge(owner, rows);
          had.set(owner, (had.get(owner) as number) + rows);
          queue.push(waiting('normal', turn, owner));
        }
        const totals = [...had.values()];
        expect(Math.max(...totals) - Math.min(...totals)).toBeLessThanOrEqual(2 * Math.max(...rowsOf.values()));
      }),
    );
  });

  it('starves nobody: under an endless stream of critical requests of others a low one is served within its ageing', () => {
    const stream = fc.array(fc.record({ owner: fc.constantFrom('a', 'b', 'c'), priority: fc.constantFrom('critical', 'high', 'normal') }), {
      minLength: 2,
      maxLength: 4,
    });
    fc.assert(
      fc.property(stream, fc.constantFrom('a', 'z'), (others, owner) => {
        const queue = open(20_000);
        const low = waiting('low', 0, owner);
        queue.push(low);
        let served = false;
        // Of its owner's own requests those less than three levels (30 turns) younger may go first. Each of them, and the low one, waits until
        // its owner has stood back for three levels at most, and then for one turn of each other owner.
        const first = 31 * others.filter((other) => other.owner === owner).length;
        const turnsMax = (first + 1) * (31 + others.length);
        for (let turn = 0; turn <= turnsMax && !served; turn++) {
          const nowMs = turn * 100;
          for (const other of others) queue.push(waiting(other.priority as 'critical', nowMs, other.owner));
          served = take(queue, nowMs, 10) === low;
        }
        expect(served).toBe(true);
      }),
      { numRuns: 30 },
    );
  });
});
