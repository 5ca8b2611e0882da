import type { ServerResponse } from 'node:http';
import { baseError } from '../../base/index.js';

export interface RunningRequest {
  /** Aborts when the client goes away, and when the server stops. */
  readonly signal: AbortSignal;
  /** Resolves when the server stops and the request has had its time to end by itself. */
  readonly late: Promise<void>;
}

interface Entry {
  readonly gone: AbortController;
  readonly giveUp: () => void;
}

/** The requests that a server answers now, and their end when it stops: their work is aborted, so that each is answered and none is cut off. */
export class RunningRequests {
  readonly #entries = new Set<Entry>();
  #isStopping = false;
  #onIdle: () => void = () => undefined;

  get isStopping(): boolean {
    return this.#isStopping;
  }

  add(response: ServerResponse): RunningRequest {
    const gone = new AbortController();
    let giveUp = (): void => undefined;
    const late = new Promise<void>((resolve) => {
      giveUp = resolve;
    });
    const entry = { gone, giveUp };
    this.#entries.add(entry);
    response.once('close', () => {
      this.#entries.delete(entry);
      // `close` without a finished answer = the client went away.
      if (!response.writableFinished) gone.abort(baseError('CANCELLED', 'the client closed the connection'));
      if (this.#entries.size === 0) this.#onIdle();
    });
    if (this.#isStopping) stop(entry);
    return { signal: gone.signal, late };
  }

  /** Resolves when all are answered, at the latest after `stopMsMax`; those that do not heed their abort are given up after `heedMsMax`. */
  async stop({ heedMsMax, stopMsMax }: { readonly heedMsMax: number; readonly stopMsMax: number }): Promise<void> {
    this.#isStopping = true;
    if (this.#entries.size === 0) return;
    const timers: NodeJS.Timeout[] = [];
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve;
      for (const entry of this.#entries) stop(entry);
      timers.push(
        setTimeout(() => this.#giveUp(), heedMsMax),
        setTimeout(resolve, stopMsMax),
      );
    });
    for (const timer of timers) clearTimeout(timer);
  }

  #giveUp(): void {
    for (const entry of this.#entries) entry.giveUp();
  }
}

// To the work it is a cancellation like any other: what it does with a commit on its way must not depend on who cancels.
const stop = ({ gone }: Entry): void => gone.abort(baseError('CANCELLED', 'the shard is stopping'));
