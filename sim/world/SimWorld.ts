import type { JsonValue } from '../../src/base/index.js';
import type { Timer } from '../../src/platform/index.js';
import { EventHeap, type SimEvent } from './EventHeap.js';
import type { SimProcess } from './SimProcess.js';
import { SimRandom } from './SimRandom.js';
import { SimTrace } from './SimTrace.js';

// Taken before any test could replace it: the one real scheduler call, which lets all promises and ticks run to their end.
const realSetImmediate = setImmediate;

export interface SimWorldOptions {
  readonly seed: number;
  readonly traceLinesKept: number;
  readonly onTraceLine: ((line: string) => void) | undefined;
}

/** What went against a promise of the product, with the virtual time it was seen at. */
export interface Violation {
  readonly atMs: number;
  readonly checker: string;
  readonly message: string;
  /** What is not part of the trace, such as a stack. */
  readonly detail?: JsonValue;
}

const violationsMax = 20;

/**
 * Virtual time and everything that happens in it: events by (time, order), one after the other; before time moves, every promise that
 * can run has run. The same seed is the same run, byte for byte.
 */
export class SimWorld {
  readonly seed: number;
  readonly random: SimRandom;
  readonly trace: SimTrace;
  readonly #heap = new EventHeap();
  readonly #violations: Violation[] = [];
  readonly #reached = new Set<string>();
  #nowMs = 0;
  #order = 0;
  #eventsRun = 0;

  constructor(options: SimWorldOptions) {
    this.seed = options.seed;
    this.random = new SimRandom(`seed ${options.seed}`);
    this.trace = new SimTrace({ linesKept: options.traceLinesKept, onLine: options.onTraceLine });
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  get eventsRun(): number {
    return this.#eventsRun;
  }

  get violations(): readonly Violation[] {
    return this.#violations;
  }

  schedule(event: { readonly delayMs: number; readonly owner: SimProcess | undefined; readonly run: () => void }): Timer {
    const delayMs = Number.isFinite(event.delayMs) ? Math.max(0, event.delayMs) : 0;
    const atMs = this.#nowMs + delayMs;
    const scheduled: SimEvent = {
      atMs,
      dueMs: atMs,
      order: this.#order++,
      owner: event.owner,
      run: event.run,
      cancelled: false,
    };
    this.#heap.push(scheduled);
    return {
      cancel: () => {
        scheduled.cancelled = true;
      },
    };
  }

  /** Adds a line with the time to the trace. */
  note(line: string, bytes?: Uint8Array): void {
    this.trace.add(`${this.#nowMs.toFixed(3)} ${line}`, bytes);
  }

  violate(checker: string, message: string, detail?: JsonValue): void {
    this.note(`violation ${checker}: ${message}`);
    if (this.#violations.length >= violationsMax) return;
    this.#violations.push({ atMs: Math.round(this.#nowMs), checker, message, ...(detail === undefined ? {} : { detail }) });
  }

  /** A rare state came about. Over all seeds of a test each of `rareStates` must. */
  reach(state: string): void {
    this.#reached.add(state);
  }

  get reached(): readonly string[] {
    return [...this.#reached];
  }

  /** Runs what happens up to `endMs`, then sets the time to it. */
  async runUntil(endMs: number): Promise<void> {
    await drain();
    for (let next = this.#heap.peek(); next !== undefined && next.atMs <= endMs; next = this.#heap.peek()) {
      this.#heap.pop();
      if (await this.#run(next)) continue;
    }
    this.#nowMs = Math.max(this.#nowMs, endMs);
  }

  /** Runs until `work` has ended, at most `limitMs` of virtual time; undefined when it did not end in time. */
  async runWhile<Value>(work: Promise<Value>, limitMs: number): Promise<Value | undefined> {
    const endMs = this.#nowMs + limitMs;
    const ended: { value?: Value; error?: unknown; isDone: boolean } = { isDone: false };
    work.then(
      (value) => {
        ended.value = value;
        ended.isDone = true;
      },
      (error: unknown) => {
        ended.error = error;
        ended.isDone = true;
      },
    );
    await drain();
    while (!ended.isDone) {
      const next = this.#heap.peek();
      if (next === undefined || next.atMs > endMs) break;
      this.#heap.pop();
      await this.#run(next);
    }
    if (ended.error !== undefined) throw ended.error;
    return ended.value;
  }

  async #run(event: SimEvent): Promise<boolean> {
    const { owner } = event;
    if (event.cancelled || owner?.isAlive === false) return false;
    if (owner !== undefined && owner.pausedUntilMs > event.atMs) {
      event.atMs = owner.pausedUntilMs;
      this.#heap.push(event);
      return false;
    }
    this.#nowMs = Math.max(this.#nowMs, event.atMs);
    this.#eventsRun++;
    event.run();
    await drain();
    return true;
  }
}

const drain = (): Promise<void> => new Promise((resolve) => realSetImmediate(resolve));
