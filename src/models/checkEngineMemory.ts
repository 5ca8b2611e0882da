import { describeBytes } from '../base/index.js';
import { type FreeMemory, platformError } from '../platform/index.js';
import type { EngineMemory } from './estimateEngineMemory.js';

/** Refuses an engine that does not fit into what is free, before it is started. Errors: MODEL_TOO_LARGE (data: neededBytes, freeBytes, totalBytes). */
export function checkEngineMemory({ totalBytes, weightsBytes, cellsBytes }: EngineMemory, free: FreeMemory | undefined): void {
  if (free === undefined || totalBytes <= free.bytes) return;
  const parts = `weights ${describeBytes(weightsBytes)}, keys and values ${describeBytes(cellsBytes)}`;
  throw platformError(
    'MODEL_TOO_LARGE',
    `the engine needs about ${describeBytes(totalBytes)} (${parts}); ${free.bound} has ${describeBytes(free.bytes)} free of ` +
      `${describeBytes(free.totalBytes)}: take a smaller model, fewer --sequences, a shorter --context or --embedding-context; --no-memory-check starts all the same`,
    { data: { neededBytes: totalBytes, freeBytes: free.bytes, totalBytes: free.totalBytes } },
  );
}
