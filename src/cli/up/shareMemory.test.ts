import { describe, expect, it } from 'vitest';
import { toyDescription } from '../../../sim/engine/index.js';
import { estimateEngineMemory } from '../../models/index.js';
import { shareMemory } from './shareMemory.js';

const model = (name: string) => ({ name, path: name, digest: '0'.repeat(64) });
const options = { shards: 3, sequences: 4, contextTokens: 1024, memoryBudgetBytes: undefined };
const free = { bytes: 12e9, totalBytes: 16e9, bound: 'the machine' };
const share = (
  given: { readonly textTokensMax?: number; readonly budget?: number; readonly served?: boolean; readonly bytes?: number } = {},
) =>
  shareMemory(
    { ...options, memoryBudgetBytes: given.budget },
    {
      chat: model('chat'),
      embedding: { ...model('vectors'), ...(given.textTokensMax !== undefined && { textTokensMax: given.textTokensMax }) },
      served: given.served ? [{ ...model('large'), kind: 'chat' }] : [],
      memory: undefined,
    },
    {
      free: { ...free, bytes: given.bytes ?? free.bytes },
      describe: (path) => ({ ...toyDescription, fileBytes: path === 'large' ? 9e9 : 1e9 }),
    },
  );

describe('shareMemory (R18)', () => {
  it('gives each shard an equal part of what is free, and tells it of what', () => {
    const { memoryBudgetBytes, machineShare } = share();
    expect(machineShare).toEqual({ shards: 3, freeBytes: 12e9, totalBytes: 16e9 });
    // Two gigabytes of weights are mapped once; process and prefixes of a shard are no engine's.
    expect(memoryBudgetBytes).toBe(Math.floor((12e9 + 2 * 2e9) / 3) - 130e6 - 268_435_456);
  });

  it('keeps a budget that was asked for, and refuses what does not fit into it', () => {
    expect(share({ budget: 3e9 }).memoryBudgetBytes).toBe(3e9);
    const tooLarge = expect.objectContaining({ code: 'MODEL_TOO_LARGE' });
    expect(() => share({ budget: 6e9 })).toThrow(tooLarge);
    expect(() => share({ served: true })).toThrow(tooLarge);
    expect(() => share({ bytes: 3e9 })).toThrow(tooLarge);
  });

  it('counts the longest text to embed', () => {
    const figures = { ...toyDescription, fileBytes: 1e9 };
    const shape = { chat: figures, embedding: figures, sequences: 4, contextTokens: 1024 };
    const needed = estimateEngineMemory({ ...shape, textTokens: 8192 }).totalBytes;
    expect(() => share({ textTokensMax: 8192, budget: needed - 1 })).toThrow(expect.objectContaining({ code: 'MODEL_TOO_LARGE' }));
    expect(share({ textTokensMax: 512, budget: needed - 1 }).memoryBudgetBytes).toBe(needed - 1);
  });
});
