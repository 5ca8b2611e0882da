import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { divideMachineMemory, type ShardModels } from './divideMachineMemory.js';
import type { EngineMemory } from './estimateEngineMemory.js';
import { planMachineMemory } from './planMachineMemory.js';

const engine = (weightsBytes: number, cellsBytes: number): EngineMemory => ({
  weightsBytes,
  cellsBytes,
  computeBytes: 0,
  logitsBytes: 0,
  processBytes: 100e6,
  totalBytes: weightsBytes + cellsBytes + 100e6,
});
const free = (bytes: number) => ({ bytes, totalBytes: 32e9, bound: 'the machine' });
const memories = fc
  .tuple(fc.integer({ min: 0, max: 8e9 }), fc.integer({ min: 0, max: 8e9 }))
  .map(([weights, cells]) => engine(weights, cells));
const models = (given: Partial<ShardModels>): ShardModels => ({
  shards: 3,
  own: engine(1e9, 1e9),
  served: [],
  budgetBytes: undefined,
  ...given,
});

describe('the memory of one machine under several shards (R18)', () => {
  it('is divided so that all shards may fill their budgets at once, and none is left out', () => {
    fc.assert(
      fc.property(memories, fc.integer({ min: 1, max: 64 }), fc.integer({ min: 0, max: 200e9 }), (own, shards, freeBytes) => {
        const { budgetBytes, eachBytes, weightsBytes, neededBytes } = planMachineMemory({ shards, own, freeBytes });
        const besideBytes = eachBytes - (own.totalBytes - weightsBytes);
        const held = shards * (budgetBytes + besideBytes) - (shards - 1) * weightsBytes;
        expect(held).toBeLessThanOrEqual(freeBytes);
        expect(held).toBeGreaterThan(freeBytes - shards);
        // Whoever fits in all, fits into its budget.
        expect(budgetBytes >= own.totalBytes).toBe(neededBytes <= freeBytes);
      }),
    );
  });

  it('what is refused does not fit, what is taken fits: own engines, and the largest served one beside them', () => {
    const served = fc.array(memories, { maxLength: 3 }).map((all) => all.map((memory, i) => ({ name: `m${i}`, memory })));
    fc.assert(
      fc.property(memories, served, fc.integer({ min: 1, max: 8 }), fc.integer({ min: 0, max: 200e9 }), (own, others, shards, bytes) => {
        const { budgetBytes, neededBytes } = planMachineMemory({ shards, own, freeBytes: bytes });
        const largest = Math.max(0, ...others.map(({ memory }) => memory.totalBytes));
        const divide = () => divideMachineMemory(models({ shards, own, served: others }), free(bytes));
        if (neededBytes <= bytes && own.totalBytes + largest <= budgetBytes) expect(divide()).toBe(budgetBytes);
        else expect(divide).toThrow(expect.objectContaining({ code: 'MODEL_TOO_LARGE' }));
      }),
    );
  });

  it('a refusal names what is needed, promised, free, and there in all', () => {
    const own = planMachineMemory({ shards: 3, own: engine(1e9, 1e9), freeBytes: 10e9 });
    expect(() => divideMachineMemory(models({}), free(5e9))).toThrow(
      expect.objectContaining({
        message: expect.stringMatching(
          /^3 shards need about 5\.5 GB \(weights 1\.0 GB once, 1\.5 GB a shard, of it 1\.0 GB .*the machine has 5\.0 GB free of 32\.0 GB: /,
        ),
        data: { neededBytes: own.neededBytes, promisedBytes: 0, freeBytes: 5e9, totalBytes: 32e9 },
      }),
    );
    const large = { name: 'large', memory: engine(3e9, 0) };
    expect(() => divideMachineMemory(models({ served: [large] }), free(10e9))).toThrow(
      expect.objectContaining({
        message: expect.stringMatching(
          /^model large needs about 3\.1 GB; each shard is promised 3\.6 GB, of which its own models take 2\.1 GB; /,
        ),
        data: { neededBytes: 3.1e9, promisedBytes: 3 * own.budgetBytes, freeBytes: 10e9, totalBytes: 32e9 },
      }),
    );
  });

  it('budgets that promise more than is free are refused with the largest that would do; smaller ones are kept', () => {
    const { budgetBytes } = planMachineMemory({ shards: 3, own: engine(1e9, 1e9), freeBytes: 10e9 });
    expect(divideMachineMemory(models({ budgetBytes: 3e9 }), free(10e9))).toBe(3e9);
    expect(divideMachineMemory(models({ budgetBytes }), free(10e9))).toBe(budgetBytes);
    expect(() => divideMachineMemory(models({ budgetBytes: 5e9 }), free(10e9))).toThrow(
      expect.objectContaining({
        code: 'MODEL_TOO_LARGE',
        message: expect.stringMatching(/^--memory-budget promises 3 shards 14\.\d GB in all, at most 3\.6 GB each would do; /),
      }),
    );
    expect(() => divideMachineMemory(models({ budgetBytes: 2e9 }), free(10e9))).toThrow(
      expect.objectContaining({ code: 'MODEL_TOO_LARGE' }),
    );
  });
});
