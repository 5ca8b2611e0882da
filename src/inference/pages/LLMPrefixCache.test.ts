import { expect, it } from 'vitest';
import { LLMPrefixCache } from './LLMPrefixCache.js';

const tokens = (length: number, last = 1) => Int32Array.from({ length }, (_, i) => (i === length - 1 ? last : 1));
const sequence = (id: number) => ({ kind: 'sequence' as const, sequence: id });

it('offers the longest shared prefix, leaving 64 rows to compute (rule R)', () => {
  const cache = new LLMPrefixCache(64);
  cache.add('m', tokens(300), sequence(0));
  expect(cache.match('m', tokens(300))).toMatchObject({ tokens: 236 });
  expect(cache.match('m', tokens(1000))).toMatchObject({ tokens: 300 - 0 });
  expect(cache.match('m', tokens(127))).toEqual({ prefix: undefined, miss: 'short' });
  expect(cache.match('m', tokens(128))).toMatchObject({ tokens: 64 });
});

it('takes no prompt below 64 tokens, whose rows came out of another kernel (rule R)', () => {
  const cache = new LLMPrefixCache(16);
  expect(cache.add('m', tokens(63), sequence(0))).toBeUndefined();
  expect(cache.match('m', tokens(500))).toEqual({ prefix: undefined, miss: 'unknown' });
  expect(cache.add('m', tokens(64), sequence(0))).toBeDefined();
});

it('shares within a scope only, and says when another scope has it', () => {
  const cache = new LLMPrefixCache(64);
  cache.add('model/adapter@1', tokens(300), sequence(0));
  for (const scope of ['model/@1', 'model/adapter@0.5', 'other/adapter@1'])
    expect(cache.match(scope, tokens(300))).toEqual({ prefix: undefined, miss: 'scope' });
  expect(cache.match('model/adapter@1', tokens(300)).prefix).toBeDefined();
});

it('adds nothing that is known but for what is computed anew anyhow', () => {
  const cache = new LLMPrefixCache(64);
  const first = cache.add('m', tokens(300), sequence(0));
  expect(cache.add('m', tokens(300, 2), sequence(1))).toBeUndefined();
  const longer = cache.add('m', tokens(400), sequence(1));
  expect(longer).toBeDefined();
  cache.remove(first as NonNullable<typeof first>);
  expect(cache.match('m', tokens(300)).prefix).toBe(longer);
});
