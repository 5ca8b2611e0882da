import { describeBytes, OstrakaError, raceAbort } from '../base/index.js';
import {
  type AdapterIdentity,
  type Clock,
  type EngineConfig,
  type EngineFigures,
  type EngineLauncher,
  type EngineProgress,
  type GenerateEvent,
  type GenerateRequest,
  type LoadedAdapter,
  type LoadReport,
  type Logger,
  type MemoryReader,
  type Metrics,
  type ModelAbilities,
  type ModelDescription,
  type ModelFacts,
  type ModelService,
  type PrefixExchange,
  platformError,
  type Timer,
} from '../platform/index.js';
import { addLoads } from './addLoads.js';
import { describeProgress } from './describeProgress.js';
import { type EngineChange, EngineSupervisor } from './EngineSupervisor.js';
import { estimateConfigMemory } from './estimateConfigMemory.js';
import type { ModelKind } from './KnownModel.js';
import type { EngineOptions } from './options.js';
import { type EngineHold, planRoom } from './planRoom.js';
import { declarePoolMetrics } from './poolMetrics.js';
import { ServedEngine } from './ServedEngine.js';
import type { ServedModel } from './ServedModel.js';
import { SingleAnswers, type SingleCall } from './SingleAnswers.js';

export interface EnginePoolParts {
  readonly launcher: EngineLauncher;
  /** Of the shard's own engine: the models of `default`. */
  readonly config: EngineConfig;
  /** Served beside them; names are distinct. */
  readonly served: readonly ServedModel[];
  readonly memory: MemoryReader;
  /** What a model file says of itself. Errors: MODEL_INVALID. */
  readonly describe: (path: string) => ModelDescription;
  readonly options: EngineOptions;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** `models`: one that the shard serves beside its own was loaded or unloaded. */
export type PoolChange = EngineChange | { readonly kind: 'models' };

/**
 * All engines of a shard behind one ModelService (R18): the shard's own, which is always there, and one for each model that is served
 * beside it, started by the first request for it. Before one is started it must fit into the memory budget, or into what is free; what
 * nobody uses is unloaded for it, the least recently used first, and never what has a request in it or waiting for it. Adapters belong to
 * the shard's own chat model. Errors besides those of ModelService: MODEL_LOADING, MODEL_MEMORY_BUSY, MODEL_TOO_LARGE.
 */
export class EnginePool extends SingleAnswers implements ModelService {
  readonly #parts: EnginePoolParts;
  readonly #own: EngineSupervisor;
  readonly #served: ReadonlyMap<string, ServedEngine>;
  readonly #idleTimers = new Map<ServedEngine, Timer>();
  readonly #listeners = new Set<(change: PoolChange) => void>();
  readonly #stopping = new AbortController();

  constructor(parts: EnginePoolParts) {
    super();
    const { launcher, config, options, clock, logger, metrics } = parts;
    this.#parts = parts;
    this.#own = new EngineSupervisor({ launcher, config, options, clock, logger, metrics });
    this.#own.onChange((change) => this.#tell(change));
    const poolMetrics = declarePoolMetrics(metrics);
    const open = (model: ServedModel) =>
      new ServedEngine({ model, launcher, options, clock, logger, metrics: poolMetrics, onChange: () => this.#tell({ kind: 'models' }) });
    this.#served = new Map(parts.served.map((model) => [model.name, open(model)]));
  }

  /** Starts the shard's own engine; resolves when it is warm. Errors: those of EngineSupervisor, MODEL_TOO_LARGE (it exceeds the budget). */
  async start(signal: AbortSignal): Promise<void> {
    const { memoryBudgetBytes } = this.#parts.options;
    if (memoryBudgetBytes !== undefined && this.#ownBytes() > memoryBudgetBytes)
      throw platformError(
        'MODEL_TOO_LARGE',
        `the shard's own models need about ${describeBytes(this.#ownBytes())}, its memory budget is ${describeBudget(memoryBudgetBytes, this.#parts.options)}`,
        { data: { neededBytes: this.#ownBytes(), budgetBytes: memoryBudgetBytes, ...promiseOf(this.#parts.options) } },
      );
    await this.#own.start(signal);
  }

  /** Ends all engines and waits until they are gone. Requests in flight fail with ENGINE_LOST. */
  async stop(): Promise<void> {
    this.#stopping.abort(platformError('ENGINE_LOST', 'the engines were stopped'));
    for (const timer of this.#idleTimers.values()) timer.cancel();
    await Promise.all([this.#own.stop(), ...this.#engines().map((engine) => engine.stop())]);
  }

  /** Of the shard's own engine. */
  get enginePid(): number {
    return this.#own.enginePid;
  }

  /** Of the shard's own engine. */
  get progress(): EngineProgress | undefined {
    return this.#own.progress;
  }

  /** Calls back after each change until the returned function is called. Listeners must not throw. */
  onChange(listener: (change: PoolChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Of the shard's own chat model. */
  readonly prefixes: PrefixExchange = {
    prefixOf: async (request, signal) => (this.#served.has(request.model) ? undefined : this.#own.prefixes.prefixOf(request, signal)),
    readPrefix: (asked, signal) => this.#own.prefixes.readPrefix(asked, signal),
    writePrefix: (part, signal) => this.#own.prefixes.writePrefix(part, signal),
  };

  get abilities(): ModelAbilities {
    return this.#own.abilities;
  }

  /** The shard's own first. */
  models(): readonly ModelFacts[] {
    return [...this.#own.models(), ...this.#engines().map(({ facts }) => facts)];
  }

  generate(request: GenerateRequest, signal: AbortSignal): AsyncGenerator<GenerateEvent, void, void> {
    const engine = this.#served.get(request.model);
    return engine === undefined ? this.#own.generate(request, signal) : this.#generateOn(engine, request, signal);
  }

  loadAdapter(
    adapter: { readonly path: string; readonly scale: number; readonly digest?: string },
    signal: AbortSignal,
  ): Promise<LoadedAdapter> {
    return this.#own.loadAdapter(adapter, signal);
  }

  unloadAdapter(adapter: AdapterIdentity, signal: AbortSignal): Promise<void> {
    return this.#own.unloadAdapter(adapter, signal);
  }

  adapters(): readonly LoadedAdapter[] {
    return this.#own.adapters();
  }

  /** Of all engines together; times are those of the shard's own. */
  load(): LoadReport {
    const chats = this.#engines().filter(({ model }) => model.kind === 'chat');
    return addLoads(
      this.#own.load(),
      chats.map((engine) => engine.load()),
    );
  }

  /** Of the shard's own engine. */
  figures(): EngineFigures {
    return this.#own.figures();
  }

  async *#generateOn(engine: ServedEngine, request: GenerateRequest, signal: AbortSignal): AsyncGenerator<GenerateEvent, void, void> {
    checkKind(engine, 'chat');
    if (request.adapter !== undefined)
      throw platformError('ADAPTER_INVALID', `adapters belong to the shard's own chat model, not to ${engine.model.name}`);
    const leave = this.#enter(engine);
    try {
      yield* (await this.#open(engine, signal)).generate(request, signal);
    } catch (thrown) {
      throw toModelError(thrown, engine);
    } finally {
      leave();
    }
  }

  protected async ask<Value>({ model, kind, signal }: SingleCall, work: (service: ModelService) => Promise<Value>): Promise<Value> {
    const engine = this.#served.get(model);
    if (engine === undefined) return this.#askOwn(kind, work);
    if (kind !== undefined) checkKind(engine, kind);
    const leave = this.#enter(engine);
    try {
      return await work(await this.#open(engine, signal));
    } catch (thrown) {
      throw toModelError(thrown, engine);
    } finally {
      leave();
    }
  }

  async #askOwn<Value>(kind: ModelKind | undefined, work: (service: ModelService) => Promise<Value>): Promise<Value> {
    try {
      return await work(this.#own);
    } catch (thrown) {
      throw this.#served.size > 0 && isCode(thrown, 'MODEL_UNKNOWN') ? this.#naming(thrown, kind) : thrown;
    }
  }

  /** The shard's own engine knows its own names alone. */
  #naming(error: OstrakaError, kind: ModelKind | undefined): OstrakaError {
    const names = this.models().flatMap((one) => (kind === undefined || one.kind === kind ? [one.name] : []));
    const what = `${kind === undefined ? '' : `${kind} `}model ${JSON.stringify(error.data['model'] ?? '')}`;
    return platformError('MODEL_UNKNOWN', `no ${what}; this shard serves default, ${names.join(', ')}`, { data: error.data });
  }

  #enter(engine: ServedEngine): () => void {
    this.#idleTimers.get(engine)?.cancel();
    const leave = engine.enter();
    return () => {
      leave();
      this.#watchIdle(engine);
    };
  }

  /** Decides and reserves in one turn: no two loads count on the same memory. */
  async #open(engine: ServedEngine, signal: AbortSignal): Promise<EngineSupervisor> {
    while (engine.leaving !== undefined) await raceAbort(engine.leaving, signal);
    return engine.supervisor ?? this.#load(engine);
  }

  #load(engine: ServedEngine): EngineSupervisor {
    this.#stopping.signal.throwIfAborted();
    engine.checkFailure();
    const bytes = estimateConfigMemory(engine.model.engine, this.#parts.describe).totalBytes;
    this.#makeRoom(engine, bytes);
    const after = Promise.all(this.#engines().map(({ leaving }) => leaving));
    return engine.open({ bytes, after, signal: this.#stopping.signal });
  }

  #makeRoom(engine: ServedEngine, neededBytes: number): void {
    const { bytes: roomBytes, bound } = this.#room();
    const holds = this.#engines().flatMap(({ hold }) => hold ?? []);
    const plan = planRoom({ neededBytes, roomBytes, holds });
    if (plan.kind === 'room') {
      for (const name of plan.unload) this.#served.get(name)?.unload('memory');
      return;
    }
    const freeBytes = Math.max(0, roomBytes);
    throw platformError(
      plan.kind === 'busy' ? 'MODEL_MEMORY_BUSY' : 'MODEL_TOO_LARGE',
      `model ${engine.model.name} needs about ${describeBytes(neededBytes)}; ${bound} has ${describeBytes(freeBytes)} left beside ${this.#holders(holds)}`,
      {
        data: {
          neededBytes,
          freeBytes,
          ...promiseOf(this.#parts.options),
          ...(plan.kind === 'busy' && { retryAfterSeconds: this.#parts.options.loadingRetrySeconds }),
        },
      },
    );
  }

  #holders(holds: readonly EngineHold[]): string {
    const own = `the shard's own models ${describeBytes(this.#ownBytes())}`;
    return [own, ...holds.map(({ name, bytes, isBusy }) => `${name} ${describeBytes(bytes)}${isBusy ? ', in use' : ''}`)].join('; ');
  }

  /** What one more engine may take as things are, and what says so. */
  #room(): { readonly bytes: number; readonly bound: string } {
    const { memoryBudgetBytes, checkMemory } = this.#parts.options;
    const sum = (bytesOf: (engine: ServedEngine) => number): number =>
      this.#engines().reduce((total, engine) => total + bytesOf(engine), 0);
    const free = checkMemory ? this.#parts.memory.read() : undefined;
    const machine = { bytes: Number.POSITIVE_INFINITY, bound: 'the machine' };
    // One that starts has not taken all yet, one that ends has not given back all.
    if (free) Object.assign(machine, free, { bytes: free.bytes - sum((one) => one.comingBytes) + sum((one) => one.leavingBytes) });
    if (memoryBudgetBytes === undefined) return machine;
    const left = memoryBudgetBytes - this.#ownBytes() - sum((one) => one.hold?.bytes ?? 0);
    if (left >= machine.bytes) return machine;
    return { bytes: left, bound: `the memory budget of ${describeBudget(memoryBudgetBytes, this.#parts.options)}` };
  }

  #ownBytes(): number {
    return estimateConfigMemory(this.#parts.config, this.#parts.describe).totalBytes;
  }

  #watchIdle(engine: ServedEngine): void {
    const { clock, options } = this.#parts;
    if (options.idleUnloadMs === 0 || engine.isBusy || this.#stopping.signal.aborted) return;
    this.#idleTimers.get(engine)?.cancel();
    const unload = (): void => {
      if (engine.hold !== undefined && !engine.isBusy) engine.unload('idle');
    };
    this.#idleTimers.set(engine, clock.setTimer(options.idleUnloadMs, unload));
  }

  #engines(): readonly ServedEngine[] {
    return [...this.#served.values()];
  }

  #tell(change: PoolChange): void {
    for (const listener of this.#listeners) listener(change);
  }
}

/** Where the budget is a share of a machine: of how much. */
function describeBudget(bytes: number, { machineShare }: EngineOptions): string {
  if (machineShare === undefined) return describeBytes(bytes);
  const { shards, freeBytes, totalBytes } = machineShare;
  const machine = `${describeBytes(freeBytes)} free of ${describeBytes(totalBytes)} when they started`;
  return `${describeBytes(bytes)} (as promised to each of ${shards} shards of a machine that had ${machine})`;
}

function promiseOf({ memoryBudgetBytes, machineShare }: EngineOptions): { readonly promisedBytes?: number; readonly totalBytes?: number } {
  if (machineShare === undefined || memoryBudgetBytes === undefined) return {};
  return { promisedBytes: machineShare.shards * memoryBudgetBytes, totalBytes: machineShare.totalBytes };
}

const kindWords = { chat: 'a chat model', embedding: 'an embedding model' } as const;

function checkKind({ model }: ServedEngine, wanted: ModelKind): void {
  if (model.kind === wanted) return;
  throw platformError('MODEL_KIND_WRONG', `${model.name} is ${kindWords[model.kind]}, and ${kindWords[wanted]} is needed for this`);
}

function isCode(thrown: unknown, code: string): thrown is OstrakaError {
  return thrown instanceof OstrakaError && thrown.code === code;
}

/** A shard whose own engine starts sends its callers to other shards; a model that is being loaded must not be loaded there, too. */
function toModelError(thrown: unknown, { model, supervisor }: ServedEngine): unknown {
  if (!isCode(thrown, 'ENGINE_LOADING')) return thrown;
  const message = `model ${model.name} is being loaded${describeProgress(supervisor?.progress)}`;
  return platformError('MODEL_LOADING', message, { data: { ...thrown.data, model: model.name } });
}
