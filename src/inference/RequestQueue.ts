import { assert, baseError } from '../base/index.js';
import type { GenerateRequest } from '../platform/index.js';
import { rankOf } from './rankOf.js';

type Priority = GenerateRequest['priority'];

export interface Waiting {
  readonly priority: Priority;
  /** Monotonic milliseconds at which it began to wait: its submission, or when it was suspended. */
  readonly waitingSinceMs: number;
}

/**
 * Requests waiting for a sequence. The highest priority goes first, and waiting raises it by one level each `ageingMs`, so that nobody
 * starves; among equals the older. Bounded: QUEUE_FULL beyond `requestsMax`.
 */
export class RequestQueue<Request extends Waiting> {
  readonly #waiting: Request[] = [];
  readonly #requestsMax: number;
  readonly #ageingMs: number;

  constructor(options: { readonly requestsMax: number; readonly ageingMs: number }) {
    this.#requestsMax = options.requestsMax;
    this.#ageingMs = options.ageingMs;
  }

  get length(): number {
    return this.#waiting.length;
  }

  push(request: Request): void {
    const requests = this.#waiting.length;
    if (requests >= this.#requestsMax)
      throw baseError('QUEUE_FULL', `${requests} requests wait for the engine already`, { data: { requests } });
    this.#waiting.push(request);
  }

  /** Takes back a request that was admitted before: it is not refused, the bound counts new ones. */
  pushBack(request: Request): void {
    this.#waiting.push(request);
  }

  /** The request whose turn it is. */
  first(nowMs: number): Request | undefined {
    if (this.#waiting.length === 0) return undefined;
    const urgency = ({ priority, waitingSinceMs }: Request): number => rankOf[priority] + (nowMs - waitingSinceMs) / this.#ageingMs;
    return this.#waiting.reduce((best, other) => (urgency(other) > urgency(best) ? other : best));
  }

  /** False when the request does not wait (any more). */
  remove(request: Request): boolean {
    const place = this.#waiting.indexOf(request);
    if (place < 0) return false;
    const removed = this.#waiting.splice(place, 1);
    assert(removed.length === 1, 'one request leaves the queue');
    return true;
  }

  values(): readonly Request[] {
    return [...this.#waiting];
  }
}
