import { describe, expect, it } from 'vitest';
import { RequestQueue, type Waiting } from './RequestQueue.js';

const waiting = (priority: 'low' | 'normal' | 'high' | 'critical', waitingSinceMs: number) => ({ priority, waitingSinceMs });

const take = <Request extends Waiting>(queue: RequestQueue<Request>, nowMs: number): Request | undefined => {
  const first = queue.first(nowMs);
  if (first !== undefined) queue.remove(first);
  return first;
};

describe('RequestQueue', () => {
  it('serves the highest priority first, and the older of equals', () => {
    const queue = new RequestQueue({ requestsMax: 8, ageingMs: 1000 });
    const [low, first, second, critical] = [waiting('low', 0), waiting('normal', 0), waiting('normal', 0), waiting('critical', 0)];
    for (const request of [low, first, second, critical]) queue.push(request);
    expect([1, 2, 3, 4, 5].map(() => take(queue, 0))).toEqual([critical, first, second, low, undefined]);
  });

  it('lets waiting count as priority, so that nobody starves', () => {
    const queue = new RequestQueue({ requestsMax: 8, ageingMs: 1000 });
    const low = waiting('low', 0);
    queue.push(low);
    queue.push(waiting('critical', 2500));
    expect(take(queue, 2500)).toMatchObject({ priority: 'critical' });
    queue.push(waiting('critical', 3500));
    expect(take(queue, 3500)).toBe(low);
  });

  it('is bounded, and forgets what is removed', () => {
    const queue = new RequestQueue({ requestsMax: 1, ageingMs: 1000 });
    const request = waiting('normal', 0);
    queue.push(request);
    expect(() => queue.push(waiting('critical', 0))).toThrow(expect.objectContaining({ code: 'QUEUE_FULL', retryable: true }));
    expect(queue.remove(request)).toBe(true);
    expect(queue.remove(request)).toBe(false);
    expect(queue.length).toBe(0);
  });
});
