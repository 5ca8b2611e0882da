import { toAbortError } from '../../src/base/index.js';
import {
  type Clock,
  type EngineConfig,
  type EngineExit,
  type EngineLauncher,
  type LaunchedEngine,
  type Logger,
  noModel,
  platformError,
  type Random,
} from '../../src/platform/index.js';
import { type AssembledEngine, assembleEngine } from '../../src/shard/index.js';
import { type SimStepCost, SimStepPacer } from './SimStepPacer.js';
import { ToyEmbeddingBackend } from './ToyEmbeddingBackend.js';
import { type ScriptedAnswer, ToyStepBackend } from './ToyStepBackend.js';

export interface SimEngineOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Metrics of one engine: like a child's, they are not the shard's. */
  readonly script: readonly ScriptedAnswer[];
  readonly cost: SimStepCost;
  /** Virtual time of starting an engine, milliseconds. */
  readonly launchMs: number;
}

/**
 * Starts engines in-process on the toy models: the same scheduler, sampler and service as in a child. `crash` ends the running one as a
 * killed process would: requests in flight fail with ENGINE_LOST, then `exited` resolves; `hang` makes it stand still.
 */
export class SimEngineLauncher implements EngineLauncher {
  readonly #options: SimEngineOptions;
  #launches = 0;
  readonly #engines = new Map<string, (reason: string, byItself: boolean) => Promise<void>>();
  #end: ((reason: string, byItself: boolean) => Promise<void>) | undefined;
  #pacer: SimStepPacer | undefined;

  constructor(options: SimEngineOptions) {
    this.#options = options;
  }

  async launch(config: EngineConfig, signal: AbortSignal): Promise<LaunchedEngine> {
    if (signal.aborted) throw toAbortError(signal);
    const { clock, launchMs } = this.#options;
    await clock.sleep(launchMs, signal);
    const pacer = new SimStepPacer(clock, this.#options.cost);
    const engine = this.#assemble(config, pacer);
    let reportExit: (exit: EngineExit) => void = () => undefined;
    const exited = new Promise<EngineExit>((resolve) => {
      reportExit = resolve;
    });
    const name = nameOf(config);
    const end = async (reason: string, byItself: boolean): Promise<void> => {
      if (this.#engines.get(name) === end) this.#engines.delete(name);
      pacer.release();
      await engine.close(platformError('ENGINE_LOST', `the engine process is gone: ${reason}`, { data: { reason } }));
      reportExit({ reason, byItself });
    };
    this.#end = end;
    this.#engines.set(name, end);
    this.#pacer = pacer;
    return {
      modelService: engine,
      pid: ++this.#launches,
      exited,
      residentBytes: () => undefined,
      ping: () => (pacer.isHung ? new Promise(() => undefined) : Promise.resolve()),
      kill: () => void end('signal SIGKILL', false), // what makes it stand still here comes from outside
      stop: () => end('stopped', false),
    };
  }

  /** Kills the newest engine; nothing when there is none. */
  async crash(byItself = false): Promise<void> {
    const end = this.#end;
    this.#end = undefined;
    await end?.(byItself ? 'signal SIGSEGV' : 'signal SIGKILL', byItself);
  }

  /** Kills the engine that serves this model; nothing when there is none. */
  async crashOf(model: string): Promise<void> {
    await this.#engines.get(model)?.('signal SIGKILL', false);
  }

  /** The newest engine stands still until it is killed. */
  hang(): void {
    this.#pacer?.hang();
  }

  #assemble(config: EngineConfig, pacer: SimStepPacer): AssembledEngine {
    const { clock, random, logger, script } = this.#options;
    return assembleEngine(config, {
      stepBackend: hasModel(config.chatModel)
        ? new ToyStepBackend({ sequences: config.sequences, contextTokens: config.contextTokens, script: scriptOf(config, script) })
        : undefined,
      embeddingBackend: hasModel(config.embeddingModel) ? new ToyEmbeddingBackend() : undefined,
      pacer,
      clock,
      random: random.fork(`engine ${this.#launches}`),
      logger,
    });
  }
}

const hasModel = ({ name }: { readonly name: string }): boolean => name !== noModel.name;

/** By its chat model, or the one model it has. */
const nameOf = ({ chatModel, embeddingModel }: EngineConfig): string => (hasModel(chatModel) ? chatModel : embeddingModel).name;

const scriptOf = ({ chatModel }: EngineConfig, script: readonly ScriptedAnswer[]): readonly ScriptedAnswer[] =>
  script.filter(({ model }) => model === undefined || model === chatModel.name);
