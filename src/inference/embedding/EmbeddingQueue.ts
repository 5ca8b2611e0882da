import { baseError } from '../../base/index.js';

/** Patient requests give way to the others. */
export type EmbeddingKind = 'patient' | 'other';

/** One embedding request: texts as tokens, vectors filled in as packs come back. */
export interface EmbeddingJob {
  readonly texts: readonly Int32Array[];
  /** Gives way to those that are not; absent = it is not. */
  readonly isPatient?: boolean;
  readonly onDone: (vectors: readonly Float32Array[]) => void;
  readonly onFailed: (error: unknown) => void;
}

interface Waiting {
  readonly job: EmbeddingJob;
  /** Indexes of the texts not yet in a pack, shortest last: packs fill better from texts of like length. */
  readonly open: number[];
  readonly vectors: Float32Array[];
  missing: number;
}

/** Texts of one pass, possibly of several requests. */
export interface EmbeddingPack {
  readonly texts: readonly Int32Array[];
  readonly tokens: number;
  /** Longer than a pass: a text that is read in pieces, alone. */
  readonly isLong: boolean;
  /** Whether a request still waits for it. */
  readonly isWanted: () => boolean;
  /** Takes the texts back: they come again later, from their beginning. */
  readonly giveBack: () => void;
  /** Gives the vectors, in the order of `texts`, to their requests. */
  readonly complete: (vectors: readonly Float32Array[]) => void;
  /** Fails every request of the pack. */
  readonly fail: (error: unknown) => void;
}

interface PackItem {
  readonly waiting: Waiting;
  readonly index: number;
  readonly text: Int32Array;
}

/**
 * Embedding requests (R23) cut into packs of one pass. Requests take turns, so a large one does not hold up a small one; what is left of
 * a pack is filled from the next requests. Patient ones (R28) have packs of their own, so that no other's pass is longer for them, and go
 * one after the other: whoever sends them waits for whole answers in turn. Bounded by `requestsMax`: QUEUE_FULL.
 */
export class EmbeddingQueue {
  readonly #waiting: Waiting[] = [];
  readonly #requestsMax: number;
  readonly #packTokensMax: number;
  readonly #passTokensMax: number;

  constructor(options: { readonly requestsMax: number; readonly packTokensMax: number; readonly passTokensMax: number }) {
    this.#requestsMax = options.requestsMax;
    this.#packTokensMax = options.packTokensMax;
    this.#passTokensMax = options.passTokensMax;
  }

  get length(): number {
    return this.#waiting.length;
  }

  push(job: EmbeddingJob): void {
    const requests = this.#waiting.length;
    if (requests >= this.#requestsMax)
      throw baseError('QUEUE_FULL', `${requests} embedding requests wait for the engine already`, { data: { requests } });
    const open = job.texts.map((_, index) => index);
    open.sort((left, right) => (job.texts[right] as Int32Array).length - (job.texts[left] as Int32Array).length || right - left);
    this.#waiting.push({ job, open, vectors: [], missing: job.texts.length });
  }

  remove(job: EmbeddingJob): void {
    const place = this.#waiting.findIndex((waiting) => waiting.job === job);
    if (place >= 0) this.#waiting.splice(place, 1);
  }

  jobs(): readonly EmbeddingJob[] {
    return this.#waiting.map(({ job }) => job);
  }

  has(kind: EmbeddingKind): boolean {
    return this.#waiting.some(({ job }) => isOf(job, kind));
  }

  /** The next pass of either kind, or undefined when nothing of it waits. A text longer than a pack goes alone; `tokensMax`: longer ones wait. */
  nextPack(kind: EmbeddingKind, tokensMax = Number.POSITIVE_INFINITY): EmbeddingPack | undefined {
    const items: PackItem[] = [];
    let tokens = 0;
    for (const waiting of this.#waiting.filter(({ job }) => isOf(job, kind))) {
      const next = (): PackItem | undefined => this.#nextItem(waiting, tokensMax);
      for (let item = next(); item !== undefined; item = next()) {
        if (items.length > 0 && tokens + item.text.length > this.#packTokensMax) break;
        waiting.open.pop();
        items.push(item);
        tokens += item.text.length;
      }
      if (tokens >= this.#packTokensMax) break;
    }
    if (items.length === 0) return undefined;
    if (kind === 'other') this.#rotate(items[0] as PackItem);
    return this.#packOf(items, tokens);
  }

  /** The shortest that is left of a request. */
  #nextItem(waiting: Waiting, tokensMax: number): PackItem | undefined {
    const index = waiting.open.at(-1);
    if (index === undefined) return undefined;
    const text = waiting.job.texts[index] as Int32Array;
    return text.length > tokensMax ? undefined : { waiting, index, text };
  }

  #rotate({ waiting: first }: PackItem): void {
    const place = this.#waiting.indexOf(first);
    this.#waiting.push(...this.#waiting.splice(place, 1));
  }

  #packOf(items: readonly PackItem[], tokens: number): EmbeddingPack {
    return {
      texts: items.map(({ text }) => text),
      tokens,
      isLong: tokens > this.#passTokensMax,
      isWanted: () => items.some(({ waiting }) => this.#waiting.includes(waiting)),
      giveBack: () => {
        for (const { waiting, index } of items) waiting.open.push(index);
      },
      complete: (vectors) => {
        for (const [place, { waiting, index }] of items.entries()) this.#accept(waiting, index, vectors[place] as Float32Array);
      },
      fail: (error) => {
        for (const { job } of new Set(items.map(({ waiting }) => waiting))) {
          this.remove(job);
          job.onFailed(error);
        }
      },
    };
  }

  #accept(waiting: Waiting, index: number, vector: Float32Array): void {
    waiting.vectors[index] = vector;
    waiting.missing--;
    if (waiting.missing > 0) return;
    this.remove(waiting.job);
    waiting.job.onDone(waiting.vectors);
  }
}

const isOf = ({ isPatient = false }: EmbeddingJob, kind: EmbeddingKind): boolean => isPatient === (kind === 'patient');
