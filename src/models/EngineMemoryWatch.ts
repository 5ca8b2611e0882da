import type { LaunchedEngine } from '../platform/index.js';
import { type EngineMemoryBound, engineMemoryBound } from './engineMemoryBound.js';
import type { EngineOptions } from './options.js';

export interface EngineMemoryWatchParts {
  readonly engine: Pick<LaunchedEngine, 'residentBytes' | 'memoryExpected'>;
  readonly options: Pick<EngineOptions, 'memoryFactorMax'>;
  /** Called once, when the engine holds more than it may. */
  readonly onExceeded: (bound: EngineMemoryBound & { readonly residentBytes: number }) => void;
}

/**
 * Watches what one engine holds (R18): the system would else end it, or another process of the machine, when there is none left. The
 * first look is at an engine that is warm, with its adapters. Does nothing where nobody estimated the engine or the system does not tell.
 */
export class EngineMemoryWatch {
  readonly #parts: EngineMemoryWatchParts;
  #warmBytes: number | undefined;
  #isExceeded = false;

  constructor(parts: EngineMemoryWatchParts) {
    this.#parts = parts;
  }

  /** To be called with each heartbeat. */
  look(): void {
    const { engine, options, onExceeded } = this.#parts;
    const { memoryExpected } = engine;
    if (memoryExpected === undefined || this.#isExceeded) return;
    const residentBytes = engine.residentBytes();
    if (residentBytes === undefined) return;
    this.#warmBytes ??= residentBytes;
    const bound = engineMemoryBound({ ...memoryExpected, warmBytes: this.#warmBytes, factorMax: options.memoryFactorMax });
    if (residentBytes <= bound.bytesMax) return;
    this.#isExceeded = true;
    onExceeded({ ...bound, residentBytes });
  }
}
