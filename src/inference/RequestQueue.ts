import { assert, baseError } from '../base/index.js';
import type { GenerateRequest } from '../platform/index.js';

type Priority = GenerateRequest['priority'];

export interface Waiting {
  readonly priority: Priority;
  /** Monotonic milliseconds at which it began to wait. */
  readonly submittedMs: number;
}

const rankOf: { readonly [priority in Priority]: number } = { low: 0, normal: 1, high: 2, critical: 3 };

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

  /** Takes the request whose turn it is. */
  shift(nowMs: number): Request | undefined {
    if (this.#waiting.length === 0) return undefined;
    const urgency = ({ priority, submittedMs }: Request): number => rankOf[priority] + (nowMs - submittedMs) / this.#ageingMs;
    const first = this.#waiting.reduce((best, other) => (urgency(other) > urgency(best) ? other : best));
    this.remove(first);
    return first;
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
