import { type Clock, sleepOn, type Timer } from '../../src/platform/index.js';
import type { SimProcess } from './SimProcess.js';
import type { SimWorld } from './SimWorld.js';

/** Wall time at which every simulation begins. */
const startMs = Date.UTC(2026, 0, 1);

/** The clock of one process: the world's time, its wall clock set wrong by the skew of its process. */
export class SimClock implements Clock {
  readonly #world: SimWorld;
  readonly #process: SimProcess;

  constructor(parts: { readonly world: SimWorld; readonly process: SimProcess }) {
    this.#world = parts.world;
    this.#process = parts.process;
  }

  nowMs(): number {
    return startMs + Math.floor(this.#world.nowMs + this.#process.clockSkewMs);
  }

  monotonicMs(): number {
    return this.#world.nowMs;
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, delayMs, signal);
  }

  setTimer(delayMs: number, callback: () => void): Timer {
    return this.#world.schedule({ delayMs, owner: this.#process, run: callback });
  }
}
