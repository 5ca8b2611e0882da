import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { divideMachineMemory, type EngineMemory } from '../../models/index.js';
import { memoryFinding } from './memoryFinding.js';

const engine = (weightsBytes: number, ownBytes: number): EngineMemory => ({
  weightsBytes,
  cellsBytes: ownBytes,
  computeBytes: 0,
  logitsBytes: 0,
  processBytes: 0,
  totalBytes: weightsBytes + ownBytes,
});

describe('memoryFinding', () => {
  const free = (bytes: number, totalBytes = 16e9, bound = 'the machine') => ({ bytes, totalBytes, bound });
  const find = (given: Partial<Parameters<typeof memoryFinding>[0]> = {}) =>
    memoryFinding({ shards: 3, engines: [engine(2e9, 1e9)], free: free(8e9), isRunning: false, ...given });

  it('names what is free and what the chosen models want, weights once for all shards', () => {
    expect(find()).toEqual({
      check: 'memory',
      state: 'ok',
      found:
        '8.0 GB free of 16.0 GB (the machine); 3 shards want about 6.2 GB: weights 2.0 GB once, 1.4 GB a shard, of it 1.0 GB of keys and values',
      advice: '',
    });
  });

  it('warns of what does not fit now, and names what never will a problem', () => {
    expect(find({ free: free(6e9, 16e9, 'the container') })).toMatchObject({
      state: 'warning',
      found: expect.stringContaining('6.0 GB free of 16.0 GB (the container); 3 shards want about 6.2 GB'),
      advice: expect.stringContaining('--shards'),
    });
    expect(find({ free: free(3e9, 4e9) }).state).toBe('problem');
    expect(find({ free: free(3e9), shards: 1, engines: [engine(9e9, 1e9)] }).state).toBe('warning');
  });

  it('tells what a shard has for models served beside: the largest must fit into its share, all together may take turns', () => {
    const [own, small] = [engine(2e9, 1e9), engine(0.2e9, 0.2e9)];
    expect(find({ engines: [own, small] })).toMatchObject({
      state: 'ok',
      found: expect.stringMatching(/; models served beside want 400\.0 MB a shard in all, a shard has 601\.6 MB for them$/),
    });
    expect(find({ engines: [own, small, small] })).toMatchObject({ state: 'ok', found: expect.stringMatching(/; they take turns$/) });
    expect(find({ engines: [own, engine(1e9, 0.5e9)] }).state).toBe('warning');
  });

  it('says the sum that `up` goes by, and promises what it promises', () => {
    const memory = fc
      .tuple(fc.integer({ min: 0, max: 8e9 }), fc.integer({ min: 1, max: 8e9 }))
      .map(([weights, own]) => engine(weights, own));
    const shards = fc.integer({ min: 1, max: 8 });
    fc.assert(
      fc.property(
        fc.tuple(memory),
        fc.array(memory, { maxLength: 3 }),
        shards,
        fc.integer({ min: 0, max: 60e9 }),
        ([own], served, count, bytes) => {
          const models = { shards: count, own, served: served.map((each, i) => ({ name: `m${i}`, memory: each })), budgetBytes: undefined };
          const isRefused = throws(() => divideMachineMemory(models, free(bytes)));
          expect(find({ shards: count, engines: [own, ...served], free: free(bytes) }).state !== 'ok').toBe(isRefused);
        },
      ),
    );
  });

  it('finds nothing wrong beside the running cluster of the data folder', () => {
    expect(find({ free: free(1e9), isRunning: true })).toMatchObject({
      state: 'ok',
      found: expect.stringContaining('has its own already'),
    });
  });
});

const throws = (work: () => unknown): boolean => {
  try {
    work();
    return false;
  } catch {
    return true;
  }
};
