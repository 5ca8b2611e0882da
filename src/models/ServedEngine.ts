import { assert, type OstrakaError, toOstrakaError } from '../base/index.js';
import { type Clock, type EngineLauncher, idleLoad, type LoadReport, type Logger, type ModelFacts } from '../platform/index.js';
import { EngineSupervisor } from './EngineSupervisor.js';
import type { EngineOptions } from './options.js';
import type { EngineHold } from './planRoom.js';
import type { PoolMetrics } from './poolMetrics.js';
import type { ServedModel } from './ServedModel.js';
import { unpublishedMetrics } from './unpublishedMetrics.js';

export interface ServedEngineParts {
  readonly model: ServedModel;
  readonly launcher: EngineLauncher;
  readonly options: EngineOptions;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: PoolMetrics;
  /** It came or went. */
  readonly onChange: () => void;
}

/** From a load to the unload, or to the failure of the load. */
interface Life {
  readonly supervisor: EngineSupervisor;
  readonly bytes: number;
  /** Settles when it is warm or has failed; never rejects. */
  readonly opened: Promise<void>;
  isWarm: boolean;
}

/**
 * One model that a shard serves beside its own, and its engine while there is one (R18): counts who uses it, loads and unloads it when it
 * is told to. Decides nothing about memory and knows no other model.
 */
export class ServedEngine {
  readonly model: ServedModel;
  readonly #parts: ServedEngineParts;
  #life: Life | undefined;
  #leaving: { readonly gone: Promise<void>; readonly bytes: number } | undefined;
  #failure: { readonly error: OstrakaError; readonly atMs: number } | undefined;
  #facts: ModelFacts | undefined;
  #users = 0;
  #lastUsedMs = 0;

  constructor(parts: ServedEngineParts) {
    this.model = parts.model;
    this.#parts = parts;
    parts.metrics.serves(parts.model.name, false);
  }

  /** A request begins to use it; the returned function ends that, once. */
  enter(): () => void {
    this.#count(1);
    let isIn = true;
    return () => {
      if (!isIn) return;
      isIn = false;
      this.#lastUsedMs = this.#parts.clock.monotonicMs();
      this.#count(-1);
    };
  }

  get isBusy(): boolean {
    return this.#users > 0;
  }

  /** The engine, warm or on its way; a request of one on its way waits. Undefined: there is none. */
  get supervisor(): EngineSupervisor | undefined {
    return this.#life?.supervisor;
  }

  /** What it holds, as long as it is not on its way out. */
  get hold(): EngineHold | undefined {
    if (this.#life === undefined) return undefined;
    return { name: this.model.name, bytes: this.#life.bytes, isBusy: this.isBusy, lastUsedMs: this.#lastUsedMs };
  }

  /** Of an engine that is being loaded: memory that it does not show yet. */
  get comingBytes(): number {
    return this.#life === undefined || this.#life.isWarm ? 0 : this.#life.bytes;
  }

  /** Resolves when an engine that was unloaded is gone; undefined: none is on its way out. */
  get leaving(): Promise<void> | undefined {
    return this.#leaving?.gone;
  }

  get leavingBytes(): number {
    return this.#leaving?.bytes ?? 0;
  }

  /** What is known of the model; the engine knows more than the configuration does. */
  get facts(): ModelFacts {
    const { name, digest, kind, engine } = this.model;
    const facts = this.#facts ?? { name, digest, kind, contextTokensMax: engine.contextTokens };
    return this.#life?.isWarm ? facts : { ...facts, loaded: false };
  }

  /** Of the engine; requests that wait for it are in no queue of its own yet. */
  load(): LoadReport {
    return this.#life?.supervisor.load() ?? idleLoad(0);
  }

  /** A load that failed a moment ago is not tried again for each request that comes: they hear why. */
  checkFailure(): void {
    const { clock, options } = this.#parts;
    if (this.#failure !== undefined && clock.monotonicMs() - this.#failure.atMs < options.loadRetryMs) throw this.#failure.error;
  }

  /** Starts an engine once `after` has resolved. There must be none. */
  open(request: { readonly bytes: number; readonly after: Promise<unknown>; readonly signal: AbortSignal }): EngineSupervisor {
    assert(this.#life === undefined && this.#leaving === undefined, 'a model has one engine at a time', { model: this.model.name });
    const { launcher, options, clock, logger } = this.#parts;
    const { name, engine: config } = this.model;
    const supervisor = new EngineSupervisor({ launcher, config, options, clock, logger, metrics: unpublishedMetrics });
    logger.info('model.loading', { model: name, neededBytes: request.bytes });
    const opened = request.after
      .then(() => supervisor.start(request.signal))
      .then(
        () => this.#opened(supervisor),
        (thrown: unknown) => this.#failed(supervisor, thrown),
      );
    this.#life = { supervisor, bytes: request.bytes, opened, isWarm: false };
    return supervisor;
  }

  /** Ends the engine, which nobody may use. */
  unload(reason: 'memory' | 'idle'): void {
    const life = this.#life;
    assert(life !== undefined && !this.isBusy, 'what is unloaded is there and not in use', { model: this.model.name });
    this.#parts.logger.info('model.unloading', { model: this.model.name, reason });
    this.#parts.metrics.unloaded(this.model.name, reason);
    this.#leave(life);
  }

  /** Ends the engine whoever uses it; resolves when it is gone. */
  async stop(): Promise<void> {
    if (this.#life !== undefined) this.#leave(this.#life);
    await this.leaving;
  }

  #leave(life: Life): void {
    this.#life = undefined;
    const gone = Promise.all([life.supervisor.stop(), life.opened]).then(() => {
      this.#leaving = undefined;
    });
    this.#leaving = { gone, bytes: life.bytes };
    this.#changed(false);
  }

  #opened(supervisor: EngineSupervisor): void {
    const life = this.#life;
    if (life?.supervisor !== supervisor) return;
    life.isWarm = true;
    this.#failure = undefined;
    this.#facts = supervisor.models()[0];
    this.#parts.logger.info('model.loaded', { model: this.model.name, pid: supervisor.enginePid });
    this.#parts.metrics.loaded(this.model.name, life.bytes);
    supervisor.onChange(({ kind }) => {
      if (kind !== 'adapters') this.#parts.metrics.serves(this.model.name, kind === 'up');
    });
    this.#changed(true);
  }

  #failed(supervisor: EngineSupervisor, thrown: unknown): void {
    if (this.#life?.supervisor !== supervisor) return; // it was told to leave
    const error = toOstrakaError(thrown);
    this.#life = undefined;
    this.#failure = { error, atMs: this.#parts.clock.monotonicMs() };
    this.#parts.logger.warn('model.load_failed', { model: this.model.name, code: error.code, message: error.message });
    this.#parts.metrics.loadFailed(this.model.name, error.code);
    void supervisor.stop();
    this.#changed(false);
  }

  #changed(isUp: boolean): void {
    this.#parts.metrics.serves(this.model.name, isUp);
    this.#parts.onChange();
  }

  #count(by: 1 | -1): void {
    this.#users += by;
    this.#parts.metrics.requests(this.model.name, this.#users);
  }
}
