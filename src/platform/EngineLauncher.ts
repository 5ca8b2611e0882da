import type { JsonValue } from '../base/index.js';
import type { ModelService } from './ModelService.js';

/** What an engine child needs to know; plain data, it crosses the process border. `noModel` stands in the place of one of the two models that it does without. */
export interface EngineConfig {
  readonly chatModel: { readonly name: string; readonly path: string; readonly digest: string };
  readonly embeddingModel: {
    readonly name: string;
    readonly path: string;
    readonly digest: string;
    /** Which rows of a text become its vector; absent = what the file says. */
    readonly pooling?: 'mean' | 'cls' | 'last' | undefined;
    /** Lengths besides its own that vectors may be cut to; absent = what the file says. */
    readonly dimensionsShorter?: readonly number[] | undefined;
    /** Longest text, where the model reads so long ones; absent = `longestTextDefault`. */
    readonly textTokensMax?: number | undefined;
  };
  /** Sequences of the context; one value in the cluster. */
  readonly sequences: number;
  /** Tokens a sequence. */
  readonly contextTokens: number;
  /** Compute threads of passes with several rows; a pass of a single row always uses one, so that its bits do not change (rule R). */
  readonly threads: number;
  /** Layers of the chat model on a GPU; absent = none. */
  readonly gpuLayers?: number;
  /** Requests waiting beyond this are refused with QUEUE_FULL. */
  readonly queueRequestsMax: number;
  /** Options of the scheduler, as JSON; absent = its defaults. */
  readonly inference?: JsonValue;
}

/** How far an engine is that starts. */
export interface EngineProgress {
  readonly phase: 'chat model' | 'embedding model' | 'warm-up';
  /** Of the phase, whole; absent where it is not known. */
  readonly percent?: number;
}

/** What an engine is expected to hold, bytes. */
export interface ExpectedMemory {
  /** Once it is warm, by the estimate. */
  readonly startBytes: number;
  /** That it fills later, at most: the store of prefixes. */
  readonly laterBytes: number;
}

/** How an engine ended. `byItself`: a fault of its own, a hang or too much memory, not an order from outside; what it ran then may be the cause. */
export interface EngineExit {
  readonly reason: string;
  readonly byItself: boolean;
}

export interface LaunchedEngine {
  readonly modelService: ModelService;
  /** Process id of the child; 0 where there is none. */
  readonly pid: number;
  /** Absent where nobody estimated it. */
  readonly memoryExpected?: ExpectedMemory;
  /** Memory that its process holds now, bytes; undefined where there is none, where the system does not tell, or when it is gone. */
  residentBytes(): number | undefined;
  /** Resolves when the engine is gone, for whatever reason; requests in flight fail with ENGINE_LOST first. */
  readonly exited: Promise<EngineExit>;
  /** Resolves when the engine answers, which it does between any two steps; never when it hangs; may reject when it is gone. */
  ping(): Promise<void>;
  /** Ends it at once, whatever it does; `exited` then resolves, by itself unless somebody stopped it, and says `why`. For an engine that hangs or holds too much memory. */
  kill(why: string): void;
  /** Ends it in order, by force when it takes long. */
  stop(): Promise<void>;
}

/** Starts an engine: a child process, or in-process under simulation. `onProgress` hears how far it is, where it tells. Resolves when the models are loaded and warm; rejects with MODEL_INVALID, ENGINE_UNAVAILABLE or ENGINE_LOST. */
export interface EngineLauncher {
  launch(config: EngineConfig, signal: AbortSignal, onProgress?: (progress: EngineProgress) => void): Promise<LaunchedEngine>;
}
