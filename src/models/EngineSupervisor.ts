import { describeBytes, type OstrakaError, raceAbort, toAbortError, toOstrakaError } from '../base/index.js';
import {
  type AdapterIdentity,
  adapterKey,
  type Clock,
  type EngineConfig,
  type EngineFigures,
  type EngineLauncher,
  type EngineProgress,
  type GenerateEvent,
  type GenerateRequest,
  idleLoad,
  type LaunchedEngine,
  type LoadedAdapter,
  type LoadReport,
  type Logger,
  type Metrics,
  type ModelAbilities,
  type ModelFacts,
  type ModelService,
  noEngineFigures,
  noPrefixExchange,
  type PrefixExchange,
  platformError,
  type Timer,
} from '../platform/index.js';
import { CrashSuspects } from './CrashSuspects.js';
import { describeProgress } from './describeProgress.js';
import { EngineHeartbeat } from './EngineHeartbeat.js';
import { EngineMemoryWatch } from './EngineMemoryWatch.js';
import { isLost } from './isLost.js';
import { lazyDigest } from './lazyDigest.js';
import { declareEngineMetrics, type EngineMetrics } from './metrics.js';
import type { EngineOptions } from './options.js';
import { QueueTimes } from './QueueTimes.js';
import { SingleAnswers, type SingleCall } from './SingleAnswers.js';
import { WantedAdapters } from './WantedAdapters.js';

export interface EngineSupervisorParts {
  readonly launcher: EngineLauncher;
  readonly config: EngineConfig;
  readonly options: EngineOptions;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** What listeners of `onChange` hear: the engine came or went, or the adapters it serves changed. */
export type EngineChange =
  | { readonly kind: 'up'; readonly pid: number }
  | { readonly kind: 'down'; readonly reason: string }
  | { readonly kind: 'adapters' };

/** A request on an engine. */
interface Run {
  readonly engine: LaunchedEngine;
  readonly digest: (() => string) | undefined;
  /** Of a suspect: no other one runs. */
  readonly alone: boolean;
  /** Lets the next suspect run. */
  readonly leave: () => void;
}

/** Resolves to the engine when there is one; replaced when it is lost. */
interface Gate {
  readonly promise: Promise<LaunchedEngine>;
  readonly open: (engine: LaunchedEngine) => void;
  readonly fail: (error: Error) => void;
}

/**
 * Keeps one engine alive for a shard (R18) and is its ModelService: starts it, starts it again when it goes (at once, then with growing
 * waits), ends one that hangs or grows too large, reloads its adapters before anyone sees it, sends a request again when its engine was lost before any text had come.
 * While there is no engine, requests wait up to `readyWaitMsMax`, then fail with ENGINE_LOADING. Errors: those of ModelService.
 */
export class EngineSupervisor extends SingleAnswers implements ModelService {
  readonly #parts: EngineSupervisorParts;
  readonly #metrics: EngineMetrics;
  readonly #stopping = new AbortController();
  readonly #queueTimes: QueueTimes;
  readonly #suspects: CrashSuspects;
  /** Requests that each engine runs, or ran when it was lost. */
  readonly #runs = new WeakMap<LaunchedEngine, Set<Run>>();
  readonly #adapters: WantedAdapters;
  readonly #listeners = new Set<(change: EngineChange) => void>();
  #gate: Gate = makeGate();
  #engine: LaunchedEngine | undefined;
  #models: readonly ModelFacts[] = [];
  #abilities: ModelAbilities = { sameTextUnderLoad: false, adapters: false, prefixes: false };
  #keeper: Promise<void> | undefined;
  #publishTimer: Timer | undefined;
  #progress: EngineProgress | undefined;

  constructor(parts: EngineSupervisorParts) {
    super();
    this.#parts = parts;
    this.#metrics = declareEngineMetrics(parts.metrics);
    this.#queueTimes = new QueueTimes(parts.options);
    this.#suspects = new CrashSuspects(parts.options);
    this.#adapters = new WantedAdapters({ logger: parts.logger, onDropped: () => this.#tell({ kind: 'adapters' }) });
  }

  /**
   * Starts the first engine; resolves when it is warm. What hinders it, those who wait for it hear, too. Errors: MODEL_INVALID,
   * MODEL_TOO_LARGE, ENGINE_UNAVAILABLE, ENGINE_LOST (it ended while it loaded, or `stop` was called).
   */
  async start(signal: AbortSignal): Promise<void> {
    const engine = await this.#launchFirst(AbortSignal.any([signal, this.#stopping.signal]));
    const startedMs = this.#parts.clock.monotonicMs();
    this.#up(engine);
    this.#keeper = this.#keep(engine, startedMs);
    this.#publish();
  }

  /** Stops the engine and waits until it is gone. Requests in flight fail with ENGINE_LOST. */
  async stop(): Promise<void> {
    const stopped = platformError('ENGINE_LOST', 'the engine was stopped');
    this.#stopping.abort(stopped);
    this.#publishTimer?.cancel();
    const engine = this.#engine;
    if (engine !== undefined) await engine.stop();
    await this.#keeper;
    this.#gate.fail(stopped);
  }

  /** Process id of the engine; 0 while there is none. */
  get enginePid(): number {
    return this.#engine?.pid ?? 0;
  }

  /** How far an engine is that starts now; undefined while one serves, or before it has told. */
  get progress(): EngineProgress | undefined {
    return this.#progress;
  }

  /** Calls back after each change until the returned function is called. Listeners must not throw. */
  onChange(listener: (change: EngineChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Of the engine that serves now: rows do not outlive it, and nobody waits for one to come. */
  readonly prefixes: PrefixExchange = {
    prefixOf: async (request, signal) => this.#prefixes().prefixOf(request, signal),
    readPrefix: async (asked, signal) => this.#prefixes().readPrefix(asked, signal),
    writePrefix: async (part, signal) => this.#prefixes().writePrefix(part, signal),
  };

  #prefixes(): PrefixExchange {
    return this.#engine?.modelService.prefixes ?? noPrefixExchange;
  }

  get abilities(): ModelAbilities {
    return this.#abilities;
  }

  models(): readonly ModelFacts[] {
    return this.#models;
  }

  async *generate(request: GenerateRequest, signal: AbortSignal): AsyncGenerator<GenerateEvent, void, void> {
    const { clock } = this.#parts;
    const enqueuedMs = clock.monotonicMs();
    this.#queueTimes.enqueued(enqueuedMs);
    let isWaiting = true;
    try {
      for await (const event of this.#generateOnAny(request, signal)) {
        if (isWaiting && event.kind === 'admitted') {
          isWaiting = false;
          this.#queueTimes.admitted(clock.monotonicMs() - enqueuedMs, clock.monotonicMs());
        }
        yield event;
      }
    } finally {
      if (isWaiting) this.#queueTimes.gaveUp(clock.monotonicMs());
    }
  }

  /** On this engine or, when it is lost before any text, on the next. */
  async *#generateOnAny(request: GenerateRequest, signal: AbortSignal): AsyncGenerator<GenerateEvent, void, void> {
    const digest = lazyDigest(request);
    let admitted = false;
    let textSeen = false;
    for (let retriesLeft = this.#parts.options.requestRetriesMax; ; retriesLeft--) {
      const run = await this.#begin(digest, signal);
      const { engine } = run;
      try {
        for await (const event of engine.modelService.generate(request, signal)) {
          const again: GenerateEvent = event.kind === 'admitted' && admitted ? { kind: 'progress' } : event;
          admitted ||= event.kind === 'admitted';
          textSeen ||= event.kind === 'text';
          yield again;
        }
        this.#answered(digest);
        return;
      } catch (error) {
        this.#noticeLoss(engine, error);
        if (!isLost(error) || textSeen || retriesLeft === 0) throw error;
      } finally {
        this.#finish(run);
      }
    }
  }

  async loadAdapter(
    adapter: { readonly path: string; readonly scale: number; readonly digest?: string },
    signal: AbortSignal,
  ): Promise<LoadedAdapter> {
    const loaded = await this.#retrying(signal, (service) => service.loadAdapter(adapter, signal));
    this.#adapters.add(adapter.path, loaded);
    this.#tell({ kind: 'adapters' });
    return loaded;
  }

  async unloadAdapter(adapter: AdapterIdentity, signal: AbortSignal): Promise<void> {
    const data = { adapterDigest: adapter.digest };
    if (!this.#adapters.remove(adapter)) throw platformError('ADAPTER_UNKNOWN', `no adapter ${adapterKey(adapter)} is loaded`, { data });
    this.#tell({ kind: 'adapters' });
    const engine = this.#engine;
    if (engine === undefined) return; // the next one does not serve it
    try {
      await engine.modelService.unloadAdapter(adapter, signal);
    } catch (error) {
      this.#noticeLoss(engine, error);
      if (!isLost(error)) throw error; // a lost engine holds no adapter, and the next one does not load it
    }
  }

  /** Adapters that are loaded, or will be again before the next engine answers. */
  adapters(): readonly LoadedAdapter[] {
    return this.#adapters.list();
  }

  load(): LoadReport {
    // The engine reports when it works: what it said last of its queue would stand for as long as it is idle.
    const avgLlmQueueMs = this.#queueTimes.meanMs(this.#parts.clock.monotonicMs());
    return { ...(this.#engine?.modelService.load() ?? idleLoad(this.#parts.config.sequences)), avgLlmQueueMs };
  }

  figures(): EngineFigures {
    return this.#engine?.modelService.figures() ?? noEngineFigures;
  }

  protected ask<Value>({ request, signal }: SingleCall, work: (service: ModelService) => Promise<Value>): Promise<Value> {
    return this.#retrying(signal, work, request && lazyDigest(request));
  }

  /** With `digest`, what may be the reason of a loss. */
  async #retrying<Value>(signal: AbortSignal, ask: (service: ModelService) => Promise<Value>, digest?: () => string): Promise<Value> {
    for (let retriesLeft = this.#parts.options.requestRetriesMax; ; retriesLeft--) {
      const run = await this.#begin(digest, signal);
      try {
        const value = await ask(run.engine.modelService);
        if (digest !== undefined) this.#answered(digest);
        return value;
      } catch (error) {
        this.#noticeLoss(run.engine, error);
        if (!isLost(error) || retriesLeft === 0) throw error;
      } finally {
        this.#finish(run);
      }
    }
  }

  /** An engine for a request, once it may run. Errors: REQUEST_QUARANTINED, ENGINE_LOADING. */
  async #begin(digest: (() => string) | undefined, signal: AbortSignal): Promise<Run> {
    const engine = await this.#whenReady(signal);
    const free: Run = { engine, digest, alone: false, leave: () => undefined };
    if (digest === undefined) return free;
    const run = this.#suspects.isEmpty ? free : { ...free, ...(await this.#beginSuspected(digest(), signal)) };
    this.#runs.get(run.engine)?.add(run);
    return run;
  }

  /** Nothing to change of a request that is not suspected itself. */
  async #beginSuspected(digest: string, signal: AbortSignal): Promise<Partial<Run>> {
    this.#suspects.check(digest, this.#parts.clock.monotonicMs());
    return this.#suspects.isSuspect(digest) ? this.#beginAlone(digest, signal) : {};
  }

  #answered(digest: () => string): void {
    if (!this.#suspects.isEmpty) this.#suspects.answered(digest());
  }

  async #beginAlone(digest: string, signal: AbortSignal): Promise<Pick<Run, 'engine' | 'alone' | 'leave'>> {
    const leave = await this.#suspects.enter(signal);
    try {
      const engine = await this.#whenReady(signal);
      this.#suspects.check(digest, this.#parts.clock.monotonicMs()); // an equal one may have run meanwhile
      return { engine, alone: true, leave };
    } catch (error) {
      leave();
      throw error;
    }
  }

  /** What ran on an engine that is lost stays written down until it is known how the engine ended. */
  #finish(run: Run): void {
    run.leave();
    if (this.#engine === run.engine) this.#runs.get(run.engine)?.delete(run);
  }

  async #whenReady(signal: AbortSignal): Promise<LaunchedEngine> {
    if (signal.aborted) throw toAbortError(signal);
    if (this.#engine !== undefined) return this.#engine;
    const { clock, options } = this.#parts;
    const patience = new AbortController();
    const timer = clock.setTimer(options.readyWaitMsMax, () => patience.abort(this.#loadingError()));
    try {
      return await raceAbort(this.#gate.promise, AbortSignal.any([signal, patience.signal]));
    } finally {
      timer.cancel();
    }
  }

  #loadingError(): OstrakaError {
    const progress = this.#progress;
    return platformError('ENGINE_LOADING', `the engine of the shard is starting${describeProgress(progress)}`, {
      data: { retryAfterSeconds: this.#parts.options.loadingRetrySeconds, ...progress },
    });
  }

  /** From one engine to the next until `stop`. */
  async #keep(first: LaunchedEngine, startedMs: number): Promise<void> {
    const { clock, options, logger } = this.#parts;
    let engine: LaunchedEngine | undefined = first;
    let upSinceMs = startedMs;
    let restarts = 0;
    while (engine !== undefined) {
      const { reason, byItself } = await engine.exited;
      this.#down(engine, reason);
      if (byItself) this.#suspect(engine);
      if (this.#stopping.signal.aborted) return;
      logger.warn('engine.lost', { reason, restarts });
      if (clock.monotonicMs() - upSinceMs >= options.stableMs) restarts = 0;
      ({ engine, restarts } = await this.#restart(restarts));
      upSinceMs = clock.monotonicMs();
    }
  }

  #suspect(engine: LaunchedEngine): void {
    const runs = [...(this.#runs.get(engine) ?? [])].flatMap(({ digest, alone }) =>
      digest === undefined ? [] : [{ digest: digest(), alone }],
    );
    this.#suspects.crashed(runs, this.#parts.clock.monotonicMs());
  }

  /** Tries until an engine is up (undefined: stopped); counts the tries. */
  async #restart(triesBefore: number): Promise<{ readonly engine: LaunchedEngine | undefined; readonly restarts: number }> {
    const { clock, logger } = this.#parts;
    const { signal } = this.#stopping;
    for (let restarts = triesBefore; ; restarts++) {
      try {
        await clock.sleep(this.#restartDelayMs(restarts), signal);
        this.#metrics.restarted();
        return { engine: await this.#launchWithAdapters(), restarts: restarts + 1 };
      } catch (thrown) {
        if (signal.aborted) return { engine: undefined, restarts };
        const { code, message } = toOstrakaError(thrown);
        logger.error('engine.start_failed', { code, message, restarts });
      }
    }
  }

  #restartDelayMs(restarts: number): number {
    const { restartDelayMsMin, restartDelayMsMax } = this.#parts.options;
    return restarts === 0 ? 0 : Math.min(restartDelayMsMin * 2 ** (restarts - 1), restartDelayMsMax);
  }

  async #launchFirst(signal: AbortSignal): Promise<LaunchedEngine> {
    try {
      const engine = await this.#launch(signal);
      if (!signal.aborted) return engine;
      await engine.stop(); // it was warm just when it was not wanted any more
      throw toAbortError(signal);
    } catch (thrown) {
      const error = toOstrakaError(thrown);
      this.#gate.fail(error);
      throw error;
    }
  }

  /** A warm engine whose heart is watched from here on: loading its adapters may hang, too. */
  async #launch(signal: AbortSignal): Promise<LaunchedEngine> {
    const { launcher, config, clock, options } = this.#parts;
    const patience = new AbortController();
    const late = platformError('ENGINE_LOST', `the engine was not warm within ${options.launchMsMax} ms`);
    const timer = clock.setTimer(options.launchMsMax, () => patience.abort(late));
    try {
      const engine = await launcher.launch(config, AbortSignal.any([signal, patience.signal]), (progress) => {
        this.#progress = progress;
      });
      this.#watch(engine);
      return engine;
    } finally {
      this.#progress = undefined;
      timer.cancel();
    }
  }

  #watch(engine: LaunchedEngine): void {
    const { clock, options, logger } = this.#parts;
    const memory = new EngineMemoryWatch({
      engine,
      options,
      onExceeded: (held) => {
        logger.warn('engine.memory_exceeded', { pid: engine.pid, ...held });
        engine.kill(`it held ${describeBytes(held.residentBytes)} of memory, and may hold ${describeBytes(held.bytesMax)}`);
      },
    });
    const heartbeat = new EngineHeartbeat({
      engine,
      clock,
      options,
      onBeat: () => {
        if (this.#engine === engine) memory.look(); // once its adapters are loaded
      },
      onHung: () => {
        logger.warn('engine.hung', { pid: engine.pid, beats: options.heartbeatsMissedMax });
        engine.kill(`it gave no sign of life for ${options.heartbeatsMissedMax} beats`);
      },
    });
    heartbeat.start();
    void engine.exited.then(() => heartbeat.stop());
  }

  async #launchWithAdapters(): Promise<LaunchedEngine> {
    const { signal } = this.#stopping;
    const engine = await this.#launch(signal);
    try {
      await this.#adapters.loadInto(engine, signal);
    } catch (error) {
      await engine.stop();
      throw error;
    }
    if (signal.aborted) {
      await engine.stop();
      throw toAbortError(signal);
    }
    this.#up(engine);
    return engine;
  }

  #up(engine: LaunchedEngine): void {
    this.#engine = engine;
    this.#runs.set(engine, new Set());
    this.#models = engine.modelService.models();
    this.#abilities = engine.modelService.abilities;
    this.#gate.open(engine);
    this.#tell({ kind: 'up', pid: engine.pid });
  }

  /** A call may learn of the loss before the exit is reported; what comes next must wait for the next engine. */
  #noticeLoss(engine: LaunchedEngine, error: unknown): void {
    if (isLost(error)) this.#down(engine, error.message);
  }

  #down(engine: LaunchedEngine, reason: string): void {
    if (this.#engine !== engine) return;
    this.#engine = undefined;
    this.#gate = makeGate();
    this.#metrics.publishFigures(undefined); // the next one may be up before the next publishing, and counts from nothing
    this.#tell({ kind: 'down', reason });
  }

  #tell(change: EngineChange): void {
    for (const listener of this.#listeners) listener(change);
  }

  #publish(): void {
    this.#metrics.publish(this.load(), this.#abilities);
    this.#metrics.publishFigures(this.#engine?.modelService.figures());
    if (this.#stopping.signal.aborted) return;
    this.#publishTimer = this.#parts.clock.setTimer(this.#parts.options.loadPublishMs, () => this.#publish());
  }
}

function makeGate(): Gate {
  let open: Gate['open'] = () => undefined;
  let fail: Gate['fail'] = () => undefined;
  const promise = new Promise<LaunchedEngine>((resolve, reject) => {
    open = resolve;
    fail = reject;
  });
  promise.catch(() => undefined); // whoever waits hears it; often nobody does
  return { promise, open, fail };
}
