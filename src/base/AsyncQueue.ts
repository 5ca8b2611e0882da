import { baseError } from './errors.js';

/**
 * A bounded queue from producers to one consumer that reads it as an async iterable. `push` throws QUEUE_FULL at `itemsMax`;
 * `whenDrained` resolves when the queue holds at most half, for producers that can wait. `close` ends the iteration after what is
 * queued; `fail` ends it with the error after what is queued. `onReturn` runs once when the consumer stops early.
 */
export class AsyncQueue<Item> implements AsyncIterable<Item> {
  readonly #items: Item[] = [];
  readonly #itemsMax: number;
  readonly #onReturn: (() => void) | undefined;
  #ending: { readonly error?: unknown } | undefined;
  #wakeConsumer: (() => void) | undefined;
  #wakeProducers: (() => void)[] = [];

  constructor(options: { readonly itemsMax: number; readonly onReturn?: () => void }) {
    this.#itemsMax = options.itemsMax;
    this.#onReturn = options.onReturn;
  }

  get length(): number {
    return this.#items.length;
  }

  get ended(): boolean {
    return this.#ending !== undefined;
  }

  push(item: Item): void {
    if (this.#ending) return;
    if (this.#items.length >= this.#itemsMax) throw baseError('QUEUE_FULL', `queue of ${this.#itemsMax} items is full`);
    this.#items.push(item);
    this.#wake();
  }

  close(): void {
    this.#ending ??= {};
    this.#wake();
  }

  fail(error: unknown): void {
    this.#ending ??= { error };
    this.#wake();
  }

  whenDrained(): Promise<void> {
    if (this.#items.length <= this.#itemsMax / 2 || this.#ending) return Promise.resolve();
    return new Promise((resolve) => {
      this.#wakeProducers.push(resolve);
    });
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, void> {
    try {
      while (true) {
        while (this.#items.length > 0) {
          const item = this.#items.shift() as Item;
          this.#releaseProducers();
          yield item;
        }
        if (this.#ending) {
          if ('error' in this.#ending) throw this.#ending.error;
          return;
        }
        await new Promise<void>((resolve) => {
          this.#wakeConsumer = resolve;
        });
      }
    } finally {
      this.#ending ??= {};
      this.#items.length = 0;
      this.#releaseProducers();
      this.#onReturn?.();
    }
  }

  #wake(): void {
    const wake = this.#wakeConsumer;
    this.#wakeConsumer = undefined;
    wake?.();
    if (this.#ending) this.#releaseProducers();
  }

  #releaseProducers(): void {
    if (this.#items.length > this.#itemsMax / 2 && !this.#ending) return;
    const waiting = this.#wakeProducers;
    this.#wakeProducers = [];
    for (const wake of waiting) wake();
  }
}
