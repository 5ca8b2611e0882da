import { describeBytes } from '../base/index.js';
import { type FreeMemory, platformError } from '../platform/index.js';
import type { EngineMemory } from './estimateEngineMemory.js';

/** Refuses engines that do not fit into what is free, before one is started. Weights are counted once. Errors: MODEL_TOO_LARGE (data: neededBytes, freeBytes). */
export function checkEngineMemory(given: {
  readonly memory: EngineMemory;
  /** How many are to be started. */
  readonly engines: number;
  /** Of one that serves a single model: its name. */
  readonly model?: string;
  /** Undefined: not known, nothing is refused. */
  readonly free: FreeMemory | undefined;
}): void {
  const { memory, engines, model, free } = given;
  if (free === undefined) return;
  const ownBytes = memory.totalBytes - memory.weightsBytes;
  const neededBytes = memory.weightsBytes + engines * ownBytes;
  if (neededBytes <= free.bytes) return;
  const cells = `${describeBytes(memory.cellsBytes)} of keys and values`;
  const parts = `weights ${describeBytes(memory.weightsBytes)}, each engine ${describeBytes(ownBytes)}, of it ${cells}`;
  throw platformError(
    'MODEL_TOO_LARGE',
    `${model !== undefined ? `model ${model} needs` : engines === 1 ? 'the engine needs' : `${engines} engines need`} about ${describeBytes(neededBytes)} (${parts}); ${free.bound} has ` +
      `${describeBytes(free.bytes)} free: take a smaller model, fewer --shards or --sequences, a shorter --context; --no-memory-check starts all the same`,
    { data: { neededBytes, freeBytes: free.bytes } },
  );
}
