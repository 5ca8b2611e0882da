import { prefixStoreBytesDefault } from '../platform/index.js';
import type { EngineMemory } from './estimateEngineMemory.js';

/** The memory of one machine under the shards of one `up`, by the estimate (R18). */
export interface MachineMemory {
  /** Of the shards' own models; processes that map the same files share them. */
  readonly weightsBytes: number;
  /** Of a shard beside them: its own engine, its process, and the store of prefixes, which fills later. */
  readonly eachBytes: number;
  /** Of all shards together, before any model is served beside their own. */
  readonly neededBytes: number;
  /** What the engines of one shard may hold together, weights included, so that all shards may do so at once. */
  readonly budgetBytes: number;
}

/** Measured: a shard process beside its engine. */
const shardBytes = 130e6;

/**
 * Divides what is free between the shards of a machine. Each checks its loads by itself, at any time: were they to go by what is free at
 * that moment, several would count on the same bytes.
 */
export function planMachineMemory(given: {
  readonly shards: number;
  readonly own: EngineMemory;
  readonly freeBytes: number;
}): MachineMemory {
  const { shards, own, freeBytes } = given;
  const { weightsBytes, totalBytes, cellsBytes } = own;
  const besideBytes = shardBytes + (cellsBytes > 0 ? prefixStoreBytesDefault : 0);
  const eachBytes = totalBytes - weightsBytes + besideBytes;
  return {
    weightsBytes,
    eachBytes,
    neededBytes: weightsBytes + shards * eachBytes,
    budgetBytes: Math.floor((freeBytes + (shards - 1) * weightsBytes) / shards) - besideBytes,
  };
}
