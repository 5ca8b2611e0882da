import type { LogFields, Logger } from '../../src/platform/index.js';
import type { SimProcess } from '../world/SimProcess.js';
import type { SimWorld } from '../world/SimWorld.js';

/** Puts the names of events into the trace. An `error` is a violation: it means that a person must look. */
export class SimLogger implements Logger {
  readonly #world: SimWorld;
  readonly #process: SimProcess;

  constructor(parts: { readonly world: SimWorld; readonly process: SimProcess }) {
    this.#world = parts.world;
    this.#process = parts.process;
  }

  child(): Logger {
    return this;
  }

  debug(event: string): void {
    this.#note('debug', event);
  }

  info(event: string): void {
    this.#note('info', event);
  }

  warn(event: string): void {
    this.#note('warn', event);
  }

  error(event: string, fields?: LogFields): void {
    if (!this.#process.isAlive) return;
    // A stack names files of this machine: it must not get into the trace.
    const { stack, ...told } = fields ?? {};
    this.#world.violate('log', `${this.#process.name}: ${event} ${JSON.stringify(told)}`, stack);
  }

  #note(level: string, event: string): void {
    if (!this.#process.isAlive) return;
    this.#world.reach(`log ${event}`);
    this.#world.note(`log ${this.#process.name} ${level} ${event}`);
  }
}
