import type { EngineConfig, EngineLauncher, EngineProgress, LaunchedEngine, MemoryReader, ModelDescription } from '../platform/index.js';
import { checkEngineMemory } from './checkEngineMemory.js';
import { estimateConfigMemory } from './estimateConfigMemory.js';
import { prefixStoreBytesOf } from './prefixStoreBytesOf.js';

export interface MemoryCheckedLauncherParts {
  readonly launcher: EngineLauncher;
  readonly memory: MemoryReader;
  /** What a model file says of itself. Errors: MODEL_INVALID. */
  readonly describe: (path: string) => ModelDescription;
}

/**
 * Starts no engine that cannot fit into memory: the system would end it, or another process, in the middle of work. Those it starts say
 * what they were expected to hold. Errors: MODEL_TOO_LARGE, MODEL_INVALID.
 */
export class MemoryCheckedLauncher implements EngineLauncher {
  readonly #parts: MemoryCheckedLauncherParts;

  constructor(parts: MemoryCheckedLauncherParts) {
    this.#parts = parts;
  }

  async launch(config: EngineConfig, signal: AbortSignal, onProgress?: (progress: EngineProgress) => void): Promise<LaunchedEngine> {
    const { launcher, memory, describe } = this.#parts;
    const estimate = estimateConfigMemory(config, describe);
    checkEngineMemory(estimate, memory.read());
    const engine = await launcher.launch(config, signal, onProgress);
    return { ...engine, memoryExpected: { startBytes: estimate.totalBytes, laterBytes: prefixStoreBytesOf(config) } };
  }
}
