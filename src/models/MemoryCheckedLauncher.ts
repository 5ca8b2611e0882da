import type { EngineConfig, EngineLauncher, EngineProgress, LaunchedEngine, MemoryReader, ModelDescription } from '../platform/index.js';
import { checkEngineMemory } from './checkEngineMemory.js';
import { estimateConfigMemory } from './estimateConfigMemory.js';

export interface MemoryCheckedLauncherParts {
  readonly launcher: EngineLauncher;
  readonly memory: MemoryReader;
  /** What a model file says of itself. Errors: MODEL_INVALID. */
  readonly describe: (path: string) => ModelDescription;
}

/** Starts no engine that cannot fit into memory: the system would end it, or another process, in the middle of work. Errors: MODEL_TOO_LARGE, MODEL_INVALID. */
export class MemoryCheckedLauncher implements EngineLauncher {
  readonly #parts: MemoryCheckedLauncherParts;

  constructor(parts: MemoryCheckedLauncherParts) {
    this.#parts = parts;
  }

  async launch(config: EngineConfig, signal: AbortSignal, onProgress?: (progress: EngineProgress) => void): Promise<LaunchedEngine> {
    const { launcher, memory, describe } = this.#parts;
    checkEngineMemory(estimateConfigMemory(config, describe), memory.read());
    return launcher.launch(config, signal, onProgress);
  }
}
