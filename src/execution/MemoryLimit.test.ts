import { expect, it } from 'vitest';
import { MemoryLimit } from './MemoryLimit.js';
import { QueryMemory } from './QueryMemory.js';

it('draws on what all queries may hold: the one that goes beyond is ended, retryably, and its share is free again', () => {
  const all = new QueryMemory(1000);
  const [first, second] = [new MemoryLimit(800, all), new MemoryLimit(800, all)];
  first.take(600);
  expect(() => second.take(500)).toThrow(expect.objectContaining({ code: 'QUERIES_MEMORY_LIMIT', httpStatus: 503, retryable: true }));
  second.end();
  second.end();
  expect(all.usedBytes).toBe(600);
  first.take(100);
  expect(() => first.take(200)).toThrow(expect.objectContaining({ code: 'QUERY_MEMORY_LIMIT' }));
  first.give(300);
  expect(all.usedBytes).toBe(600);
  first.end();
  first.give(600); // late: what was counted is given back already
  expect(all.usedBytes).toBe(0);
});
