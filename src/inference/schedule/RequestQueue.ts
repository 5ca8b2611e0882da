import { assert, baseError } from '../../base/index.js';
import type { GenerateRequest } from '../../platform/index.js';
import { FairShares } from './FairShares.js';
import { rankOf } from './rankOf.js';

type Priority = GenerateRequest['priority'];

export interface Waiting {
  readonly priority: Priority;
  /** Whose request it is: owners share the model fairly. */
  readonly owner: string;
  /** Monotonic milliseconds at which it began to wait: its submission, or when it was suspended. */
  readonly waitingSinceMs: number;
  /** It had a sequence before. */
  readonly begun: boolean;
}

export interface RequestQueueOptions {
  readonly requestsMax: number;
  readonly ageingMs: number;
  readonly ownersMax: number;
}

/**
 * Requests waiting for a sequence. Of one owner the highest priority goes first, and waiting raises it by one level each `ageingMs`, so
 * that nobody starves; among equals the older. Between owners the level of their first requests decides, where waiting counts from the
 * owner's last admission at the earliest: a thousand old requests of one owner do not stand before the new one of another. At the same
 * level the owner goes first that had less of the model. Bounded: QUEUE_FULL beyond `requestsMax`.
 */
export class RequestQueue<Request extends Waiting> {
  readonly shares: FairShares;
  readonly #waiting: Request[] = [];
  readonly #options: RequestQueueOptions;

  constructor(options: RequestQueueOptions) {
    this.#options = options;
    this.shares = new FairShares(options);
  }

  get length(): number {
    return this.#waiting.length;
  }

  push(request: Request): void {
    const requests = this.#waiting.filter(({ begun }) => !begun).length;
    if (requests >= this.#options.requestsMax)
      throw baseError('QUEUE_FULL', `${requests} requests wait for the engine already`, { data: { requests } });
    this.pushBack(request);
  }

  /** Takes back a request that was admitted before: it is not refused, the bound counts new ones. */
  pushBack(request: Request): void {
    const owners = new Set(this.#waiting.map(({ owner }) => owner));
    if (!owners.has(request.owner)) this.shares.enter(request.owner, owners);
    this.#waiting.push(request);
  }

  /** The request whose turn it is; without `mayBegin` among those that have begun. */
  first(nowMs: number, mayBegin: boolean): Request | undefined {
    const candidates = mayBegin ? this.#waiting : this.#waiting.filter(({ begun }) => begun);
    const owners = new Map<string, { head: Request; level: number }>();
    for (const request of candidates) {
      const level = this.#levelBetweenOwners(request, nowMs);
      const known = owners.get(request.owner);
      if (known === undefined) owners.set(request.owner, { head: request, level });
      else {
        known.level = Math.max(known.level, level);
        if (this.#urgency(request, nowMs) > this.#urgency(known.head, nowMs)) known.head = request;
      }
    }
    return this.#fairest([...owners.values()]);
  }

  /** The request is given a sequence. */
  admit(request: Request, nowMs: number): void {
    this.remove(request);
    this.shares.admitted(request.owner, nowMs);
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

  #urgency({ priority, waitingSinceMs }: Request, nowMs: number): number {
    return rankOf[priority] + (nowMs - waitingSinceMs) / this.#options.ageingMs;
  }

  #levelBetweenOwners({ priority, owner, waitingSinceMs }: Request, nowMs: number): number {
    const sinceMs = Math.max(waitingSinceMs, this.shares.lastAdmittedMs(owner));
    return rankOf[priority] + Math.floor((nowMs - sinceMs) / this.#options.ageingMs);
  }

  #fairest(owners: readonly { readonly head: Request; readonly level: number }[]): Request | undefined {
    const [first] = [...owners].sort((one, other) => {
      const served = this.shares.servedBy(one.head.owner) - this.shares.servedBy(other.head.owner);
      return other.level - one.level || served || one.head.waitingSinceMs - other.head.waitingSinceMs;
    });
    return first?.head;
  }
}
