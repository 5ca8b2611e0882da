import { assert } from '../../base/index.js';
import type { LoadReport } from '../../platform/index.js';
import type { InferenceOptions } from '../options.js';
import { DraftLedger } from '../speculation/DraftLedger.js';
import { choosePreemption } from './choosePreemption.js';
import { chooseSequence, type SequenceHolders } from './chooseSequence.js';
import { type AnswerEstimate, estimateAnswer, type RemainingWork } from './estimateAnswer.js';
import { joinBase } from './joinBase.js';
import { type BatchPlan, firstTurn, planStep, type SchedulerTurn, type SequenceState, turnAfter } from './planStep.js';
import { RequestQueue, type Waiting } from './RequestQueue.js';
import { rankOf } from './rankOf.js';
import { type MeasuredStep, StepCosts } from './StepCosts.js';

/** A request as the scheduler sees it. `sequence`, `admission` and `prefilledTokens` are the scheduler's to change. */
export interface ScheduledRequest extends Waiting {
  /** Requests of one group may share a call: the key of their adapter; null = base model. */
  readonly adapterGroup: string | null;
  readonly promptTokens: number;
  readonly replayTokens: number;
  readonly answered: boolean;
  sequence: number;
  admission: number;
  readonly turnTokens: number;
  readonly rows: number;
  /** Monotonic milliseconds of the last admission. */
  admittedMs: number;
  waitingSinceMs: number;
  prefilledTokens: number;
  replayedTokens: number;
  /** Monotonic milliseconds by which the service level wants its first token. */
  readonly firstTokenDueMs: number;
  readonly streamed: boolean;
  readonly draftedTokens: number;
  readonly draftShare: number;
  /** Tokens it may still draw. */
  readonly answerTokensLeft: number;
  /** It ends at that number and not before. */
  readonly answerIsLong: boolean;
}

/** A step that has run. */
export interface DoneStep extends MeasuredStep {
  /** Requests that decoded in it, and tokens that were drawn for them. */
  readonly decodedRequests: number;
  readonly drawnTokens: number;
}

export interface SchedulerBounds {
  readonly sequences: number;
  readonly rowsMax: number;
  readonly outputsMax: number;
  readonly queueRequestsMax: number;
}

/** In steps of about a fifth: a mean that trembles must not make a new load report of every look at it. */
const roundedMs = (stepMs: number): number => (stepMs <= 0 ? 0 : Math.round(2 ** (Math.round(4 * Math.log2(stepMs)) / 4)));

/** `sequence` of a request that holds none. */
export const noSequence = -1;

/**
 * Iteration-level scheduling (R19, paper §III-C): owns the queue, who holds which sequence of the context, and the turn. Every step is
 * planned anew from this state by the pure `planStep`; the caller runs the plan and reports back with `complete`. Never touches the model.
 * Invariant: a request is queued, or holds exactly one sequence, or is unknown here.
 */
export class ContinuousBatchScheduler<Request extends ScheduledRequest> {
  readonly #bounds: SchedulerBounds;
  readonly #options: InferenceOptions;
  readonly #queue: RequestQueue<Request>;
  readonly #holders: (Request | undefined)[];
  readonly #queueMsSamples: number[] = [];
  readonly #costs: StepCosts;
  readonly #ledger: DraftLedger;
  #answerTokensMean: number | undefined;
  #turn: SchedulerTurn = firstTurn;
  #admissions = 0;

  constructor(bounds: SchedulerBounds, options: InferenceOptions) {
    assert(bounds.rowsMax >= 128 && bounds.rowsMax % 64 === 0, 'a piece and its remainder fit into one call', { rowsMax: bounds.rowsMax });
    this.#bounds = { ...bounds, rowsMax: Math.min(bounds.rowsMax, options.batchTokensMax) };
    this.#options = options;
    this.#costs = new StepCosts(options);
    this.#ledger = new DraftLedger(options);
    const { queueAgeingMs: ageingMs, fairOwnersMax: ownersMax } = options;
    this.#queue = new RequestQueue({ requestsMax: bounds.queueRequestsMax, ageingMs, ownersMax });
    this.#holders = new Array<Request | undefined>(bounds.sequences).fill(undefined);
  }

  /** Lets a request wait for a sequence. Errors: QUEUE_FULL. */
  submit(request: Request): void {
    this.#queue.push(request);
  }

  /**
   * Gives a free sequence (`chooseSequence`) to the request whose turn it is: ids that follow each other keep a decode step in one pass. `hasRoomFor` says whether the pages suffice; a request that finds none waits, and with it those behind it. Undefined when nobody
   * can be admitted.
   */
  admitNext(nowMs: number, hasRoomFor: (request: Request) => boolean): Request | undefined {
    const request = this.#first(nowMs);
    if (request === undefined || !this.#holders.includes(undefined) || !hasRoomFor(request)) return undefined;
    const sequence = chooseSequence(this.#groups(), request.adapterGroup);
    this.#queue.admit(request, nowMs);
    request.sequence = sequence;
    request.admission = this.#admissions++;
    request.admittedMs = nowMs;
    this.#holders[sequence] = request;
    this.#sampleQueueMs(nowMs - request.waitingSinceMs);
    return request;
  }

  /** The running request that should give up its sequence now, if any; the caller takes its rows out and calls `suspend`. */
  preemption(nowMs: number, pages: { readonly free: number; readonly canKeep: (rows: number) => boolean }): Request | undefined {
    return choosePreemption(
      {
        running: this.#running(),
        next: this.#first(nowMs),
        hasFreeSequence: this.#holders.includes(undefined),
        freePages: pages.free,
        canKeep: pages.canKeep,
        nowMs,
      },
      this.#options,
    );
  }

  /** Takes a request out of its sequence and lets it wait again. */
  suspend(request: Request, nowMs: number): void {
    assert(this.#holders[request.sequence] === request, 'a running request is suspended', { sequence: request.sequence });
    this.#holders[request.sequence] = undefined;
    request.sequence = noSequence;
    request.waitingSinceMs = nowMs;
    this.#queue.pushBack(request);
  }

  /**
   * Closes a gap in the ids of the base model's requests when nobody waits to fill it. A gap splits a decode step into two passes (8 rows: 80 instead of
   * 52 ms), a move costs about 5 ms once. The caller moves the contents.
   */
  closeGap(): { readonly from: number; readonly to: number } | undefined {
    const move = this.#queue.length > 0 ? undefined : joinBase(this.#groups());
    if (move === undefined) return undefined;
    const mover = this.holderOf(move.from);
    this.#holders[move.from] = undefined;
    this.#holders[move.to] = mover;
    mover.sequence = move.to;
    return move;
  }

  plan(nowMs: number): BatchPlan {
    const sequences = this.#running();
    const costs = this.#costs.figures(sequences.length);
    const { rowsMax, outputsMax } = this.#bounds;
    const drafts = { stepMs: (rows: number) => this.#costs.freshStepMs(rows), outputsMax, mayDraft: this.#ledger.allows };
    return planStep({ sequences, turn: this.#turn, rowsMax, costs, drafts, nowMs }, this.#options);
  }

  /** A plan has run: its rows are computed. */
  complete(plan: BatchPlan): void {
    this.#turn = turnAfter(this.#turn, plan);
    if (plan.kind === 'decode') {
      const rows = this.#options.fairDecodeRows * (1 + plan.draftTokens);
      for (const sequence of plan.sequences) this.#charge(this.holderOf(sequence), rows);
    }
    if (plan.kind !== 'prefill') return;
    const holder = this.holderOf(plan.sequence);
    this.#charge(holder, plan.rows);
    if (plan.from < holder.promptTokens) holder.prefilledTokens += plan.rows;
    else holder.replayedTokens += plan.rows;
  }

  /** What a step cost, and how many tokens it drew for how many requests. */
  measured(step: DoneStep, elapsedMs: number): void {
    this.#costs.record(step, elapsedMs);
    const { decodeRows, embedRows, decodedRequests, drawnTokens } = step;
    if (decodeRows === 0 || embedRows > 0) return;
    // What such steps cost in the mean: that this one waited for the processor is no fault of its draft.
    const [stepMs = 0, plainMs = 0] = [decodeRows, decodedRequests].map((rows) => this.#costs.figures(rows).decodeStepMs);
    if (decodeRows === decodedRequests) this.#ledger.plain(stepMs);
    else this.#ledger.drafted(stepMs, (plainMs * drawnTokens) / decodedRequests);
  }

  /** An answer of so many tokens came to its end by itself. */
  ended(answerTokens: number): void {
    const before = this.#answerTokensMean ?? answerTokens;
    this.#answerTokensMean = before + (answerTokens - before) * this.#options.stepCostWeight;
  }

  /** When a request that is submitted now will probably be answered; undefined while nothing is measured. */
  estimate(request: Request): AnswerEstimate | undefined {
    const { prefillRowMs, decodeStepMs } = this.#costs.figures(this.#bounds.sequences);
    if (prefillRowMs === undefined || decodeStepMs === undefined) return undefined;
    const workOf = (one: Request): RemainingWork => this.#remainingWork(one);
    const ahead = this.#queue.values().filter(({ priority }) => rankOf[priority] >= rankOf[request.priority]);
    const { sequences } = this.#bounds;
    return estimateAnswer({
      request: workOf(request),
      running: this.#running().map(workOf),
      ahead: ahead.map(workOf),
      sequences,
      prefillRowMs,
      decodeStepMs,
    });
  }

  /** Milliseconds of a row of a prompt; undefined before the first measurement. */
  get prefillRowMs(): number | undefined {
    return this.#costs.figures(1).prefillRowMs;
  }

  /** What it would cost to compute the request's rows again. */
  recomputeMs({ promptTokens, rows }: Request): number | undefined {
    const promptRows = Math.min(promptTokens, rows);
    return this.#costs.recomputeMs(promptRows, rows - promptRows);
  }

  holderOf(sequence: number): Request {
    const request = this.#holders[sequence];
    assert(request !== undefined, 'a planned sequence has a request', { sequence });
    return request;
  }

  /** Takes a request out, wherever it is. Returns the sequence it held, whose contents the caller must drop, or `noSequence`. */
  remove(request: Request): number {
    if (this.#queue.remove(request)) return noSequence;
    const { sequence } = request;
    if (sequence === noSequence || this.#holders[sequence] !== request) return noSequence;
    this.#holders[sequence] = undefined;
    request.sequence = noSequence;
    return sequence;
  }

  /** Every request that waits or runs. */
  requests(): readonly Request[] {
    return [...this.#running(), ...this.#queue.values()];
  }

  /** Requests that wait or run. */
  get pendingRequests(): number {
    return this.#queue.length + this.#running().length;
  }

  load(): Omit<LoadReport, 'prefixes'> {
    const running = this.#running();
    const samples = this.#queueMsSamples;
    const adapters = new Set(running.flatMap(({ adapterGroup }) => adapterGroup ?? []));
    return {
      pendingLlmRequests: this.pendingRequests,
      avgLlmQueueMs: samples.length === 0 ? 0 : samples.reduce((sum, sample) => sum + sample, 0) / samples.length,
      activeLoraAdapters: [...adapters].sort(),
      sequencesTotal: this.#bounds.sequences,
      sequencesBusy: running.length,
      queuedByPriority: this.#queuedByPriority(),
      stepMs: roundedMs(this.#costs.stepMs),
    };
  }

  /** Those that have begun take turns; new ones begin while there are fewer than `concurrentRequestsMax`. */
  #first(nowMs: number): Request | undefined {
    const begun = this.#queue.values().filter((one) => one.begun).length + this.#running().length;
    return this.#queue.first(nowMs, begun < this.#options.concurrentRequestsMax);
  }

  #groups(): SequenceHolders {
    return this.#holders.map((holder) => holder?.adapterGroup);
  }

  #charge({ owner }: Request, rows: number): void {
    this.#queue.shares.charge(owner, rows);
  }

  #remainingWork({ promptTokens, prefilledTokens, answerTokensLeft, answerIsLong }: Request): RemainingWork {
    const answerTokens = answerIsLong ? answerTokensLeft : Math.min(answerTokensLeft, this.#answerTokensMean ?? answerTokensLeft);
    return { promptRows: promptTokens - prefilledTokens, answerTokens };
  }

  #queuedByPriority(): LoadReport['queuedByPriority'] {
    const count = (wanted: Request['priority']): number => this.#queue.values().filter(({ priority }) => priority === wanted).length;
    return { low: count('low'), normal: count('normal'), high: count('high'), critical: count('critical') };
  }

  #running(): readonly (Request & SequenceState)[] {
    return this.#holders.filter((holder) => holder !== undefined);
  }

  #sampleQueueMs(queueMs: number): void {
    this.#queueMsSamples.push(queueMs);
    if (this.#queueMsSamples.length > this.#options.queueSamples) this.#queueMsSamples.shift();
  }
}
