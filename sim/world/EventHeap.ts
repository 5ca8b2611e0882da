import type { SimProcess } from './SimProcess.js';

export interface SimEvent {
  /** When it runs; moved by a pause of its owner. */
  atMs: number;
  /** When it would have run without pauses: what a pause holds back runs in its old order. */
  readonly dueMs: number;
  /** Events of one moment run in the order they were made. */
  readonly order: number;
  /** Whose code runs; an event of a dead process is dropped, of a paused one put off. */
  readonly owner: SimProcess | undefined;
  readonly run: () => void;
  cancelled: boolean;
}

const isBefore = (left: SimEvent, right: SimEvent): boolean =>
  (left.atMs - right.atMs || left.dueMs - right.dueMs || left.order - right.order) < 0;

/** A binary heap of events by (time, time due, order). */
export class EventHeap {
  readonly #events: SimEvent[] = [];

  get size(): number {
    return this.#events.length;
  }

  peek(): SimEvent | undefined {
    return this.#events[0];
  }

  push(event: SimEvent): void {
    const events = this.#events;
    let at = events.length;
    events.push(event);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(event, events[parent] as SimEvent)) break;
      events[at] = events[parent] as SimEvent;
      at = parent;
    }
    events[at] = event;
  }

  pop(): SimEvent | undefined {
    const [first] = this.#events;
    const last = this.#events.pop();
    if (first === undefined || last === undefined || this.#events.length === 0) return first;
    this.#sink(last);
    return first;
  }

  #sink(event: SimEvent): void {
    const events = this.#events;
    let at = 0;
    for (let child = 1; child < events.length; child = 2 * at + 1) {
      const right = child + 1;
      const least = right < events.length && isBefore(events[right] as SimEvent, events[child] as SimEvent) ? right : child;
      if (!isBefore(events[least] as SimEvent, event)) break;
      events[at] = events[least] as SimEvent;
      at = least;
    }
    events[at] = event;
  }
}
