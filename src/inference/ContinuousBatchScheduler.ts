import { assert } from '../base/index.js';
import type { LoadReport } from '../platform/index.js';
import { choosePreemption } from './choosePreemption.js';
import type { InferenceOptions } from './options.js';
import { type BatchPlan, firstTurn, planStep, type SchedulerTurn, type SequenceState, turnAfter } from './planStep.js';
import { RequestQueue, type Waiting } from './RequestQueue.js';

/** A request as the scheduler sees it. `sequence`, `admission` and `prefilledTokens` are the scheduler's to change. */
export interface ScheduledRequest extends Waiting {
  readonly adapterDigest: string | null;
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
}

export interface SchedulerBounds {
  readonly sequences: number;
  readonly rowsMax: number;
  readonly queueRequestsMax: number;
}

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
  #turn: SchedulerTurn = firstTurn;
  #admissions = 0;

  constructor(bounds: SchedulerBounds, options: InferenceOptions) {
    assert(bounds.rowsMax >= 128 && bounds.rowsMax % 64 === 0, 'a piece and its remainder fit into one call', { rowsMax: bounds.rowsMax });
    this.#bounds = bounds;
    this.#options = options;
    this.#queue = new RequestQueue({ requestsMax: bounds.queueRequestsMax, ageingMs: options.queueAgeingMs });
    this.#holders = new Array<Request | undefined>(bounds.sequences).fill(undefined);
  }

  /** Lets a request wait for a sequence. Errors: QUEUE_FULL. */
  submit(request: Request): void {
    this.#queue.push(request);
  }

  /**
   * Gives the lowest free sequence to the request whose turn it is: dense ids keep a decode step in one pass. `hasRoomFor` says whether the
   * pages suffice; a request that finds none waits, and with it those behind it. Undefined when nobody can be admitted.
   */
  admitNext(nowMs: number, hasRoomFor: (request: Request) => boolean): Request | undefined {
    const sequence = this.#holders.indexOf(undefined);
    const request = this.#queue.first(nowMs);
    if (sequence < 0 || request === undefined || !hasRoomFor(request)) return undefined;
    this.#queue.remove(request);
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
        next: this.#queue.first(nowMs),
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
   * Closes a gap in the ids when nobody waits to fill it: the highest busy id moves to the lowest free one. A gap splits a decode step
   * into two passes (8 rows: 80 instead of 52 ms), a move costs about 5 ms once. The caller moves the contents.
   */
  closeGap(): { readonly from: number; readonly to: number } | undefined {
    const to = this.#holders.indexOf(undefined);
    const from = this.#holders.findLastIndex((holder) => holder !== undefined);
    const mover = this.#holders[from];
    if (this.#queue.length > 0 || to < 0 || to > from || mover === undefined) return undefined;
    this.#holders[from] = undefined;
    this.#holders[to] = mover;
    mover.sequence = to;
    return { from, to };
  }

  plan(): BatchPlan {
    return planStep({ sequences: this.#running(), turn: this.#turn, rowsMax: this.#bounds.rowsMax }, this.#options);
  }

  /** A plan has run: its rows are computed. */
  complete(plan: BatchPlan): void {
    this.#turn = turnAfter(this.#turn, plan);
    if (plan.kind !== 'prefill') return;
    const holder = this.holderOf(plan.sequence);
    if (plan.from < holder.promptTokens) holder.prefilledTokens += plan.rows;
    else holder.replayedTokens += plan.rows;
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

  load(): LoadReport {
    const running = this.#running();
    const samples = this.#queueMsSamples;
    const adapters = new Set(running.flatMap(({ adapterDigest }) => adapterDigest ?? []));
    return {
      pendingLlmRequests: this.#queue.length + running.length,
      avgLlmQueueMs: samples.length === 0 ? 0 : samples.reduce((sum, sample) => sum + sample, 0) / samples.length,
      activeLoraAdapters: [...adapters].sort(),
      sequencesTotal: this.#bounds.sequences,
      sequencesBusy: running.length,
    };
  }

  #running(): readonly (Request & SequenceState)[] {
    return this.#holders.filter((holder) => holder !== undefined);
  }

  #sampleQueueMs(queueMs: number): void {
    this.#queueMsSamples.push(queueMs);
    if (this.#queueMsSamples.length > this.#options.queueSamples) this.#queueMsSamples.shift();
  }
}
