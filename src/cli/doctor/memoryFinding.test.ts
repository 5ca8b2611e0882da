import { describe, expect, it } from 'vitest';
import type { EngineMemory } from '../../models/index.js';
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
  const find = (given: Partial<Parameters<typeof memoryFinding>[0]> = {}) =>
    memoryFinding({
      shards: 3,
      engines: [engine(2e9, 1e9)],
      free: { bytes: 8e9, bound: 'the machine' },
      totalBytes: 16e9,
      isRunning: false,
      ...given,
    });

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
    expect(find({ free: { bytes: 6e9, bound: 'the container' } })).toMatchObject({
      state: 'warning',
      found: expect.stringContaining('6.0 GB free of 16.0 GB (the container); 3 shards want about 6.2 GB'),
      advice: expect.stringContaining('--shards'),
    });
    expect(find({ free: { bytes: 3e9, bound: 'the machine' }, totalBytes: 4e9 }).state).toBe('problem');
    expect(find({ free: { bytes: 3e9, bound: 'the machine' }, shards: 1, engines: [engine(9e9, 1e9)] }).state).toBe('warning');
  });

  it('counts the models that are served beside', () => {
    expect(find({ engines: [engine(2e9, 1e9), engine(1e9, 0.5e9)] })).toMatchObject({
      state: 'warning',
      found: expect.stringContaining('weights 3.0 GB once, 2.2 GB a shard'),
    });
  });

  it('finds nothing wrong beside the running cluster of the data folder', () => {
    expect(find({ free: { bytes: 1e9, bound: 'the machine' }, isRunning: true })).toMatchObject({
      state: 'ok',
      found: expect.stringContaining('has its own already'),
    });
  });
});
