import { describe, expect, it } from 'vitest';
import { type AdapterNode, planQuery } from '../../aql/index.js';
import type { JsonValue } from '../../base/index.js';
import type { AdapterAccess, SequenceContext } from '../SequenceContext.js';
import { adapterOperator } from './adapterOperator.js';

const row = {
  adapter: 'a'.repeat(64),
  model: 'small',
  domain: 'law',
  shard: 's1',
  scale: 1,
  accuracy_delta: 0.5,
  p99_delta_ms: 0,
  announced_at: 1,
  stale: false,
};

/** Runs a statement on adapters that note what they are asked. */
async function run(text: string, bindVars: { readonly [name: string]: JsonValue } = {}) {
  const asked: unknown[] = [];
  const adapters: AdapterAccess = {
    list: () => [row, { ...row, domain: 'trade', stale: true }],
    load: async (adapter, shard) => {
      asked.push([adapter, shard]);
      return { ...row, ...adapter, adapter: row.adapter };
    },
    unload: async (name, shard) => {
      asked.push([name, shard]);
      return { adapter: row.adapter, domain: name, shard: shard ?? 's1', scale: 1 };
    },
  };
  const node = planQuery({ text, bindVars }).nodes.find((one): one is AdapterNode => one.kind === 'Adapter') as AdapterNode;
  const evaluation = { step: () => undefined, allocate: () => undefined, scratch: [], memoryLimitBytes: 1e6 };
  const context = { adapters, evaluation, signal: new AbortController().signal } as unknown as SequenceContext;
  const input = (async function* () {
    yield [[]];
  })();
  const rows: unknown[] = [];
  for await (const block of adapterOperator(node, context)(input)) rows.push(...block.map((one) => one[node.variable]));
  return { rows, asked };
}

describe('LLM ADAPTER as rows (R21)', () => {
  it('lists every known announcement', async () => {
    expect((await run('LLM ADAPTER LIST')).rows).toEqual([row, { ...row, domain: 'trade', stale: true }]);
  });

  it('loads with the scale and the figure that are given, on the shard that is named', async () => {
    const { rows, asked } = await run("LLM ADAPTER LOAD @path DOMAIN 'law' SHARD 's2' OPTIONS {scale: 0.5, accuracy_delta: -0.25}", {
      path: '/a.gguf',
    });
    expect(asked).toEqual([[{ path: '/a.gguf', domain: 'law', scale: 0.5, accuracyDelta: -0.25 }, 's2']]);
    expect(rows).toMatchObject([{ domain: 'law', scale: 0.5 }]);
    expect((await run("LLM ADAPTER LOAD 'a' DOMAIN 'law'")).asked).toEqual([[{ path: 'a', domain: 'law', scale: 1 }, undefined]]);
  });

  it('unloads by name', async () => {
    const { rows, asked } = await run("LLM ADAPTER UNLOAD 'law@0.5'");
    expect(asked).toEqual([['law@0.5', undefined]]);
    expect(rows).toEqual([{ adapter: row.adapter, domain: 'law@0.5', shard: 's1', scale: 1, unloaded: true }]);
  });

  it.each([
    ['LLM ADAPTER LOAD 1 DOMAIN "law"', 'the path or name'],
    ['LLM ADAPTER LOAD "" DOMAIN "law"', 'the path or name'],
    ['LLM ADAPTER LOAD "a\\u0000b" DOMAIN "law"', 'zero byte'],
    ['LLM ADAPTER LOAD "a" DOMAIN null', 'DOMAIN'],
    ['LLM ADAPTER LOAD "a" DOMAIN "law" SHARD 1', 'SHARD'],
    ['LLM ADAPTER LOAD "a" DOMAIN "law" OPTIONS {scale: -1}', 'OPTIONS.scale'],
    ['LLM ADAPTER LOAD "a" DOMAIN "law" OPTIONS {accuracy_delta: 2}', 'OPTIONS.accuracy_delta'],
    ['LLM ADAPTER LOAD "a" DOMAIN "law" OPTIONS {size: 1}', 'OPTIONS'],
    ['LLM ADAPTER UNLOAD null', 'the path or name'],
  ])('refuses %s and asks nobody', async (text, part) => {
    await expect(run(text)).rejects.toMatchObject({ code: 'ADAPTER_STATEMENT_INVALID', message: expect.stringContaining(part) });
  });
});
