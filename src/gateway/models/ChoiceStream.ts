import { AsyncQueue, assert, baseError, toOstrakaError } from '../../base/index.js';
import type { ClusterAnswer, ClusterEvent, ClusterModelService, ClusterRequest } from '../../cooperation/index.js';

/** An event of one of several answers. */
export interface ChoiceEvent {
  readonly index: number;
  readonly event: ClusterEvent;
}

/** Events that wait for the client, of all answers together; a slow client holds the engines' streams back, not this queue. */
const eventsWaitingMax = 4_096;

/**
 * Several generations as one: n answers to a question, or answers to several prompts (R22). The first failure ends all; ending the
 * iteration early cancels all.
 */
export class ChoiceStream {
  readonly #models: ClusterModelService;
  readonly #requests: readonly ClusterRequest[];

  constructor(models: ClusterModelService, requests: readonly ClusterRequest[]) {
    this.#models = models;
    this.#requests = requests;
  }

  /** Answers in the order of the requests. */
  async answers(signal: AbortSignal): Promise<readonly ClusterAnswer[]> {
    const stop = new AbortController();
    const both = AbortSignal.any([signal, stop.signal]);
    try {
      return await Promise.all(this.#requests.map((request) => this.#models.answer(request, both)));
    } finally {
      stop.abort(baseError('CANCELLED', 'another answer of the same request failed'));
    }
  }

  /** Events as they come. A single answer is passed through as it is. */
  async *events(signal: AbortSignal): AsyncGenerator<ChoiceEvent, void, void> {
    const [only] = this.#requests;
    assert(only !== undefined, 'a request has at least one answer');
    if (this.#requests.length > 1) return yield* this.#merged(signal);
    for await (const event of this.#models.generate(only, signal)) yield { index: 0, event };
  }

  async *#merged(signal: AbortSignal): AsyncGenerator<ChoiceEvent, void, void> {
    const stop = new AbortController();
    const both = AbortSignal.any([signal, stop.signal]);
    const queue = new AsyncQueue<ChoiceEvent>({ itemsMax: eventsWaitingMax });
    const all = Promise.all(this.#requests.map((request, index) => this.#pump(request, { index, queue, signal: both })));
    all.then(
      () => queue.close(),
      (thrown: unknown) => queue.fail(toOstrakaError(thrown)),
    );
    try {
      yield* queue;
    } finally {
      stop.abort(baseError('CANCELLED', 'nobody reads the answers any more'));
    }
  }

  async #pump(
    request: ClusterRequest,
    to: { readonly index: number; readonly queue: AsyncQueue<ChoiceEvent>; readonly signal: AbortSignal },
  ): Promise<void> {
    for await (const event of this.#models.generate(request, to.signal)) {
      await to.queue.whenDrained();
      to.queue.push({ index: to.index, event });
    }
  }
}
