import type { ExpectedMemory } from '../platform/index.js';

export interface EngineMemoryBound {
  readonly bytesMax: number;
  /** Which the factor was applied to: the estimate, or what the warm engine held. */
  readonly baseBytes: number;
}

/**
 * What an engine may hold. An engine that holds more than its estimate from its start on is not at fault, its estimate is (weights that a
 * native library keeps a second time, adapters): ending it would help nobody, and the next one would be as large.
 */
export function engineMemoryBound({
  startBytes,
  laterBytes,
  warmBytes,
  factorMax,
}: ExpectedMemory & { readonly warmBytes: number; readonly factorMax: number }): EngineMemoryBound {
  const baseBytes = Math.max(startBytes, warmBytes);
  return { baseBytes, bytesMax: Math.ceil(baseBytes * factorMax) + laterBytes };
}
