import { baseError, concatBytes, onAbort, raceAbort, toAbortError, toOstrakaError, utf8 } from '../base/index.js';
import {
  type AdapterIdentity,
  type BackendRow,
  type Clock,
  type EmbeddingBackend,
  type EmbedRequest,
  type EmbedResult,
  type EngineConfig,
  type EngineFigures,
  type GenerateEvent,
  type GenerateRequest,
  type LoadedAdapter,
  type LoadReport,
  type Logger,
  type ModelAbilities,
  type ModelFacts,
  type ModelService,
  noModel,
  platformError,
  type Random,
  type RerankRequest,
  type RerankResult,
  type StepBackend,
  type StepPacer,
} from '../platform/index.js';
import { AdapterRegistry } from './AdapterRegistry.js';
import { checkSameBits } from './checkSameBits.js';
import { EmbeddingService } from './embedding/EmbeddingService.js';
import { EmbeddingShare } from './embedding/EmbeddingShare.js';
import { GenerationTask, type SampleMeans } from './GenerationTask.js';
import { ConstraintCompiler } from './grammar/ConstraintCompiler.js';
import type { InferenceOptions } from './options.js';
import { PromptEncoder } from './PromptEncoder.js';
import { EnginePrefixes } from './pages/EnginePrefixes.js';
import { PagedKVCache } from './pages/PagedKVCache.js';
import { pagesOf } from './pages/pagesOf.js';
import { prefixScope } from './pages/prefixScope.js';
import { checkSampling } from './sampling/checkSampling.js';
import { checkToken } from './sampling/checkToken.js';
import { ContinuousBatchScheduler, type DoneStep, noSequence } from './schedule/ContinuousBatchScheduler.js';
import type { BatchPlan } from './schedule/planStep.js';
import { grammarSourceOf } from './tools/grammarSourceOf.js';

export interface InferenceEngineParts {
  readonly config: EngineConfig;
  readonly options: InferenceOptions;
  readonly stepBackend: StepBackend;
  readonly embeddingBackend: EmbeddingBackend;
  readonly pacer: StepPacer;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

type Step = Parameters<StepPacer['after']>[0];

const nothing: Step = { prefillRows: 0, decodeRows: 0, embedRows: 0 };
const noStep: DoneStep = { ...nothing, decodedRequests: 0, drawnTokens: 0 };

/**
 * The loop around the model (R19–R23): admit, plan, run, sample, emit, retire; then, where it has its share of the time, one pass of embeddings; then the pacer. All effects
 * are here, all decisions in the scheduler and the sampler. A cycle is synchronous: an abort is seen between two cycles and frees its
 * sequence at once. Errors: those of ModelService, and CHAT_REFUSED.
 */
export class InferenceEngine implements ModelService {
  readonly abilities: ModelAbilities;
  readonly #parts: InferenceEngineParts;
  readonly #prompts: PromptEncoder;
  readonly #scheduler: ContinuousBatchScheduler<GenerationTask>;
  readonly #embeddings: EmbeddingService;
  readonly #embeddingShare: EmbeddingShare;
  readonly #pages: PagedKVCache;
  readonly prefixes: EnginePrefixes;
  readonly #adapters = new AdapterRegistry();
  readonly #constraints: ConstraintCompiler;
  readonly #scratch: Float32Array;
  /** 0 where rows that are taken back, or computed together, would change bits. */
  readonly #draftTokensMax: number;
  #preemptions = 0;
  #draftedTokens = 0;
  #acceptedTokens = 0;
  #loop: Promise<void> | undefined;
  #closed = false;

  constructor(parts: InferenceEngineParts) {
    const { config, options, stepBackend, embeddingBackend } = parts;
    this.#parts = parts;
    const broken = options.selfCheck ? checkSameBits(stepBackend) : undefined;
    if (broken !== undefined) parts.logger.error('inference.same_bits_broken', { what: broken });
    const sameTextUnderLoad = broken === undefined && !options.answerRowsReused;
    const sharesPrefixes = sameTextUnderLoad && stepBackend.facts.cutsAnywhere && options.prefixesAnnouncedMax > 0;
    this.abilities = { sameTextUnderLoad, adapters: true, prefixes: sharesPrefixes };
    this.#prompts = new PromptEncoder(stepBackend, parts.clock);
    this.#scratch = new Float32Array(stepBackend.facts.vocabularySize);
    this.#constraints = new ConstraintCompiler(stepBackend, options.constraints);
    const { sequencesMax: sequences, rowsMax, outputsMax, cutsAnywhere } = stepBackend.facts;
    this.#draftTokensMax = broken === undefined && cutsAnywhere ? options.draftTokensMax : 0;
    this.#scheduler = new ContinuousBatchScheduler({ sequences, rowsMax, outputsMax, queueRequestsMax: config.queueRequestsMax }, options);
    this.#pages = new PagedKVCache({
      backend: stepBackend,
      logger: parts.logger,
      clock: parts.clock,
      copyCostWeight: options.stepCostWeight,
      storeBytesMax: options.kvStoreBytesMax,
      cellPagesMax: Math.min(options.kvCellPagesMax, sequences * pagesOf(stepBackend.facts.contextTokens)),
      // Where bits depend on how a prompt is cut, a shared prefix would give other answers than none.
      reuseTokensMin: broken === undefined ? options.prefixTokensMin : Number.MAX_SAFE_INTEGER,
    });
    this.#embeddingShare = new EmbeddingShare(options.embedTimeShare);
    this.prefixes = new EnginePrefixes({
      isOn: sharesPrefixes,
      pages: this.#pages,
      facts: stepBackend.facts,
      modelDigest: config.chatModel.digest,
      options,
      encode: (request) => {
        this.#checkModel(request.model, config.chatModel.name);
        return this.#prompts.encode(request);
      },
      prefillRowMs: () => this.#scheduler.prefillRowMs,
      checkOpen: (signal) => this.#checkOpen(signal),
    });
    this.#embeddings = new EmbeddingService({
      backend: embeddingBackend,
      dimensionsShorter: config.embeddingModel.dimensionsShorter,
      options,
      pause: () => parts.pacer.after(nothing),
      checkOpen: (signal) => this.#checkOpen(signal),
      wake: () => this.#wake(),
    });
  }

  models(): readonly ModelFacts[] {
    const { config, stepBackend, embeddingBackend } = this.#parts;
    const { gives, dimensions, textTokensMax } = embeddingBackend.facts;
    const { chatModel, embeddingModel } = config;
    const result = gives === 'score' ? { crossEncoder: true as const } : { dimensions };
    const facts: readonly ModelFacts[] = [
      { name: chatModel.name, digest: chatModel.digest, kind: 'chat', contextTokensMax: stepBackend.facts.contextTokens },
      { name: embeddingModel.name, digest: embeddingModel.digest, kind: 'embedding', contextTokensMax: textTokensMax, ...result },
    ];
    return facts.filter(({ name }) => name !== noModel.name);
  }

  async *generate(request: GenerateRequest, signal: AbortSignal): AsyncGenerator<GenerateEvent, void, void> {
    this.#checkOpen(signal);
    const task = this.#accept(request);
    const forget = onAbort(signal, () => this.#end(task, toAbortError(signal)));
    try {
      yield* task.events;
    } finally {
      forget();
    }
  }

  async embed(request: EmbedRequest, signal: AbortSignal): Promise<EmbedResult> {
    this.#checkOpen(signal);
    this.#checkModel(request.model, this.#parts.config.embeddingModel.name);
    return this.#embeddings.embed(request, signal);
  }

  async rerank(request: RerankRequest, signal: AbortSignal): Promise<RerankResult> {
    this.#checkOpen(signal);
    this.#checkModel(request.model, this.#parts.config.embeddingModel.name);
    return this.#embeddings.rerank(request, signal);
  }

  async tokenize(model: string, text: string, signal: AbortSignal): Promise<readonly number[]> {
    this.#checkOpen(signal);
    const { config, stepBackend, embeddingBackend } = this.#parts;
    if (model === config.embeddingModel.name) return Array.from(embeddingBackend.tokenize(text));
    this.#checkModel(model, config.chatModel.name);
    return Array.from(stepBackend.tokenize(text, { parseSpecial: false }));
  }

  async detokenize(model: string, tokens: readonly number[], signal: AbortSignal): Promise<string> {
    this.#checkOpen(signal);
    const { config, stepBackend } = this.#parts;
    this.#checkModel(model, config.chatModel.name);
    for (const token of tokens) checkToken(token, stepBackend.facts.vocabularySize);
    return utf8.decode(concatBytes(tokens.map((token) => stepBackend.tokenBytes(token))));
  }

  async loadAdapter(
    adapter: { readonly path: string; readonly scale: number; readonly digest?: string },
    signal: AbortSignal,
  ): Promise<LoadedAdapter> {
    this.#checkOpen(signal);
    const { config, stepBackend } = this.#parts;
    const { digest } = stepBackend.loadAdapter(adapter);
    return this.#adapters.add({ digest, modelDigest: config.chatModel.digest, scale: adapter.scale });
  }

  async unloadAdapter(adapter: AdapterIdentity, signal: AbortSignal): Promise<void> {
    this.#checkOpen(signal);
    const gone = this.#adapters.remove(adapter).then(() => this.#freeFile(adapter.digest));
    await raceAbort(gone, signal);
  }

  adapters(): readonly LoadedAdapter[] {
    return this.#adapters.list();
  }

  load(): LoadReport {
    return { ...this.#scheduler.load(), prefixes: this.prefixes.announced() };
  }

  figures(): EngineFigures {
    const { cells, store, prefixLookups } = this.#pages;
    const speculation = { draftedTokens: this.#draftedTokens, acceptedTokens: this.#acceptedTokens };
    return { cells, store, prefixLookups, preemptions: this.#preemptions, speculation };
  }

  /** Ends everything in flight with `reason`, waits for the cycle that runs, frees the models. Idempotent. */
  async close(reason: Error): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#failEverything(reason);
    await this.#loop;
    this.#parts.stepBackend.close();
    this.#parts.embeddingBackend.close();
  }

  /** Unless another scale of it is here, or was loaded just now. */
  #freeFile(digest: string): void {
    if (!this.#adapters.needsFile(digest)) this.#parts.stepBackend.unloadAdapter(digest);
  }

  #checkOpen(signal: AbortSignal): void {
    if (signal.aborted) throw toAbortError(signal);
    if (this.#closed) throw platformError('ENGINE_LOST', 'the engine is closed');
  }

  #checkModel(asked: string, served: string): void {
    if (asked === 'default' || asked === served) return;
    throw platformError('MODEL_UNKNOWN', `no model "${asked}" is served for this; "${served}" is`, { data: { model: asked } });
  }

  /** Everything that can refuse a request happens here, before it waits. */
  #accept(request: GenerateRequest): GenerationTask {
    const { clock, random, config, stepBackend } = this.#parts;
    this.#checkModel(request.model, config.chatModel.name);
    checkSampling(request.sampling, stepBackend.facts.vocabularySize);
    const prompt = this.#prompts.encode(request);
    const grammar = grammarSourceOf(request);
    const { serviceFirstTokenMs, serviceFirstTokenMsPer256Tokens } = this.#parts.options;
    const task: GenerationTask = new GenerationTask({
      request,
      prompt,
      drafts: { ...this.#parts.options, draftTokensMax: this.#draftTokensMax },
      firstTokenMs: serviceFirstTokenMs + (serviceFirstTokenMsPer256Tokens * prompt.length) / 256,
      seed: request.sampling.seed ?? random.uint32(),
      submittedMs: clock.monotonicMs(),
      endTokens: stepBackend.facts.endTokens,
      matcher: grammar && this.#constraints.matcherFor(grammar),
      onReturn: () => this.#end(task, baseError('CANCELLED', 'nobody reads the answer')),
    });
    this.#checkDeadline(task, request.deadlineMs);
    if (task.adapterGroup !== null) this.#adapters.acquire(task.adapterGroup);
    try {
      this.#scheduler.submit(task);
    } catch (error) {
      if (task.adapterGroup !== null) this.#adapters.release(task.adapterGroup);
      throw error;
    }
    this.#wake();
    return task;
  }

  /** A request that will not be answered in time takes no time from the others: it is refused at once, and may do better elsewhere. */
  #checkDeadline(task: GenerationTask, deadlineMs: number | undefined): void {
    const estimate = deadlineMs === undefined ? undefined : this.#scheduler.estimate(task);
    if (estimate === undefined || estimate.endMs * this.#parts.options.deadlineEstimateShare <= (deadlineMs as number)) return;
    const [estimateMs, queueMs, leftMs] = [estimate.endMs, estimate.startMs, deadlineMs as number].map(Math.round) as [
      number,
      number,
      number,
    ];
    throw platformError(
      'DEADLINE_UNREACHABLE',
      `the answer is estimated to take ${estimateMs} ms, ${queueMs} of them in queue; the request has ${leftMs} ms`,
      { data: { estimateMs, queueMs, deadlineMs: leftMs } },
    );
  }

  #wake(): void {
    this.#loop ??= this.#run();
  }

  /** Cycles while there is work. Never rejects: what a cycle throws fails the requests it was for. */
  async #run(): Promise<void> {
    try {
      await this.#parts.pacer.after(nothing); // requests of one moment are admitted together
      while (this.#scheduler.pendingRequests > 0 || this.#embeddings.length > 0) {
        await this.#timedCycle();
      }
    } catch (thrown) {
      const error = toOstrakaError(thrown);
      this.#parts.logger.error('inference.loop_failed', { code: error.code, message: error.message });
      this.#failEverything(error);
    } finally {
      this.#loop = undefined;
    }
  }

  /** A step costs what passes until the next may begin: the pacer's part belongs to it. */
  async #timedCycle(): Promise<void> {
    const { clock, pacer } = this.#parts;
    const beginMs = clock.monotonicMs();
    const step = this.#cycle();
    await pacer.after(step);
    const endMs = clock.monotonicMs();
    this.#embeddings.stepEnded(endMs);
    this.#scheduler.measured(step, endMs - beginMs);
    this.#embeddingShare.took({ chat: step.prefillRows + step.decodeRows, embedding: step.embedRows }, endMs - beginMs);
  }

  #cycle(): DoneStep {
    const nowMs = this.#parts.clock.monotonicMs();
    this.#preempt(nowMs);
    this.#admit(nowMs);
    const gap = this.#scheduler.closeGap();
    if (gap !== undefined) this.#pages.move(gap.from, gap.to);
    const plan = this.#planWithPrefix(nowMs);
    const done = this.#runPlan(plan);
    this.#pages.check();
    const rows = done.prefillRows + done.decodeRows;
    if (!this.#embeddingShare.mayRun(rows)) return done;
    const embedRows = this.#embeddings.runPass({
      nowMs: this.#parts.clock.monotonicMs(),
      isBusy: rows > 0,
      onFailed: (error) => this.#logStepFailure(error),
    });
    return { ...done, embedRows };
  }

  /** A request that is suspended keeps its answer and its events; only its rows leave the model. */
  #preempt(nowMs: number): void {
    const task = this.#scheduler.preemption(nowMs, { free: this.#pages.cells.free, canKeep: (rows) => this.#pages.canKeep(rows) });
    if (task === undefined) return;
    task.suspended = this.#pages.suspend(task.sequence, this.#scheduler.recomputeMs(task));
    this.#scheduler.suspend(task, nowMs);
    this.#preemptions++;
  }

  #admit(nowMs: number): void {
    const hasRoomFor = (next: GenerationTask): boolean => this.#hasRoomFor(next);
    for (let task = this.#scheduler.admitNext(nowMs, hasRoomFor); task; task = this.#scheduler.admitNext(nowMs, hasRoomFor))
      this.#seat(task, nowMs);
  }

  /** One request may always run, however few pages there are: the context holds it. */
  #hasRoomFor({ prompt, rows }: GenerationTask): boolean {
    const { held, free } = this.#pages.cells;
    return held === 0 || free >= pagesOf(Math.max(prompt.length, rows)) + this.#parts.options.kvHeadroomPages;
  }

  #seat(task: GenerationTask, nowMs: number): void {
    this.#pages.open(task.sequence, { scope: this.#scopeOf(task), prompt: task.prompt, rows: task.rows });
    if (task.suspended === undefined) task.admitted(nowMs);
    else task.resumed(this.#pages.resume(task.sequence, task.suspended));
  }

  #scopeOf({ adapterGroup }: GenerationTask): string {
    return prefixScope.of({ modelDigest: this.#parts.config.chatModel.digest, adapter: adapterGroup ?? '' });
  }

  /** Looks for a shared prefix at the last moment, when a prompt that was submitted just before may have ended. */
  #planWithPrefix(nowMs: number): BatchPlan {
    const plan = this.#scheduler.plan(nowMs);
    if (plan.kind !== 'prefill' || plan.from > 0) return plan;
    const task = this.#scheduler.holderOf(plan.sequence);
    const tokens = this.#pages.reuse(plan.sequence);
    if (tokens === 0) return plan;
    task.prefilledTokens = tokens;
    task.cachedTokens = tokens;
    return this.#scheduler.plan(nowMs);
  }

  #runPlan(plan: BatchPlan): DoneStep {
    if (plan.kind === 'idle') return noStep;
    const { stepBackend } = this.#parts;
    const rows = this.#rowsOf(plan);
    try {
      stepBackend.useAdapter(plan.adapterGroup === null ? null : this.#adapters.identityOf(plan.adapterGroup));
      stepBackend.decode(rows);
    } catch (thrown) {
      this.#failSequences(rows, thrown);
      return noStep; // what failed says nothing of what steps cost
    }
    this.#scheduler.complete(plan);
    if (plan.kind === 'prefill') {
      this.#takePrefilled(plan);
      return { ...noStep, prefillRows: rows.length };
    }
    const drawn = plan.sequences.map((sequence, place) => this.#takeDecoded(sequence, place, plan.draftTokens));
    const drawnTokens = drawn.reduce((sum, tokens) => sum + tokens, 0);
    return { ...noStep, decodeRows: rows.length, decodedRequests: plan.sequences.length, drawnTokens };
  }

  #rowsOf(plan: Exclude<BatchPlan, { kind: 'idle' }>): readonly BackendRow[] {
    if (plan.kind === 'decode') {
      const rowsOf = (sequence: number) => this.#scheduler.holderOf(sequence).nextRows(plan.draftTokens);
      return plan.sequences.flatMap((sequence) => rowsOf(sequence).map((row) => ({ ...row, sequence, wantLogits: true })));
    }
    return this.#scheduler
      .holderOf(plan.sequence)
      .tokensAt(plan.from, plan.rows)
      .map((token, place) => ({
        token,
        position: plan.from + place,
        sequence: plan.sequence,
        wantLogits: plan.last && place === plan.rows - 1,
      }));
  }

  #takePrefilled({ sequence, from, rows, last }: Extract<BatchPlan, { kind: 'prefill' }>): void {
    const task = this.#scheduler.holderOf(sequence);
    this.#pages.grow(sequence, rows);
    if (from + rows === task.prompt.length) this.#pages.promptEnded(sequence);
    this.#advance(task, (means) => {
      if (last) task.sample(this.#parts.stepBackend.logits(rows - 1), means);
    });
  }

  /** The rows of a sequence in a decode step: of its newest token and of those that were drafted to follow. Returns the tokens drawn. */
  #takeDecoded(sequence: number, place: number, draftTokens: number): number {
    const task = this.#scheduler.holderOf(sequence);
    const computed = 1 + draftTokens;
    const drafted = task.draftedTokens;
    let right = 1; // the newest token's own row is, whatever comes of drawing the next
    const logitsOf = (row: number): Float32Array => this.#parts.stepBackend.logits(place * computed + row);
    this.#advance(task, (means) => {
      try {
        right = task.verify(draftTokens, logitsOf, means);
      } finally {
        this.#pages.growDrafted(sequence, { computed, right });
      }
    });
    this.#draftedTokens += Math.min(draftTokens, drafted);
    this.#acceptedTokens += right - 1;
    return right;
  }

  /** A task after a step: its tokens, then its end, should it have come. */
  #advance(task: GenerationTask, draw: (means: SampleMeans) => void): void {
    const { stepBackend, clock, options } = this.#parts;
    const nowMs = clock.monotonicMs();
    try {
      draw({ scratch: this.#scratch, tokenBytes: (token) => stepBackend.tokenBytes(token), nowMs });
      task.progressed(nowMs, options.progressIntervalMs);
      if (!task.finished) return;
      this.#scheduler.ended(task.answerTokens);
      this.#retire(task);
    } catch (thrown) {
      if (!task.retired) this.#pages.drop(task.sequence); // rows that gave no token are not for others
      this.#end(task, thrown);
    }
  }

  #failSequences(rows: readonly BackendRow[], thrown: unknown): void {
    this.#logStepFailure(thrown);
    for (const sequence of new Set(rows.map((row) => row.sequence))) {
      this.#pages.drop(sequence);
      this.#end(this.#scheduler.holderOf(sequence), thrown);
    }
  }

  #logStepFailure(thrown: unknown): void {
    const { code, message } = toOstrakaError(thrown);
    this.#parts.logger.error('inference.step_failed', { code, message });
  }

  /** Ends a request early. Does nothing to one that has ended. */
  #end(task: GenerationTask, error: unknown): void {
    if (!task.finished) task.fail(toOstrakaError(error));
    this.#retire(task);
  }

  /** Gives back what a request holds: its place in the queue or its sequence, and its adapter. */
  #retire(task: GenerationTask): void {
    if (task.retired) return;
    task.retired = true;
    const sequence = this.#scheduler.remove(task);
    if (sequence !== noSequence) this.#pages.close(sequence, this.#parts.options.answerRowsReused ? task.answer : undefined);
    if (task.suspended !== undefined) this.#pages.discard(task.suspended);
    if (task.adapterGroup !== null) this.#adapters.release(task.adapterGroup);
  }

  #failEverything(error: Error): void {
    for (const task of this.#scheduler.requests()) this.#end(task, error);
    this.#embeddings.failAll(toOstrakaError(error));
  }
}
