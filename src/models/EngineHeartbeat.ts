import type { Clock, LaunchedEngine, Timer } from '../platform/index.js';
import type { EngineOptions } from './options.js';

export interface EngineHeartbeatParts {
  readonly engine: Pick<LaunchedEngine, 'ping'>;
  readonly clock: Clock;
  readonly options: Pick<EngineOptions, 'heartbeatIntervalMs' | 'heartbeatsMissedMax'>;
  /** Called at each beat before the last, answered or not. */
  readonly onBeat: () => void;
  /** Called once, when the engine has let too many beats pass. */
  readonly onHung: () => void;
}

/**
 * Asks one engine for a sign of life every `heartbeatIntervalMs`. Beats that pass without an answer are counted rather than time: after a
 * pause of this process (a stopped machine) one timer fires, not many, so a healthy engine is not taken for a hung one.
 */
export class EngineHeartbeat {
  readonly #parts: EngineHeartbeatParts;
  #isAnswered = true;
  #missed = 0;
  #timer: Timer | undefined;
  #isStopped = false;

  constructor(parts: EngineHeartbeatParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#schedule();
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  #schedule(): void {
    if (this.#isStopped) return;
    const { clock, options } = this.#parts;
    this.#timer = clock.setTimer(options.heartbeatIntervalMs, () => this.#beat());
  }

  #beat(): void {
    const { options, onBeat, onHung } = this.#parts;
    this.#missed = this.#isAnswered ? 0 : this.#missed + 1;
    if (this.#missed >= options.heartbeatsMissedMax) {
      this.stop();
      onHung();
      return;
    }
    onBeat();
    if (this.#isAnswered) this.#ask();
    this.#schedule();
  }

  #ask(): void {
    this.#isAnswered = false;
    this.#parts.engine.ping().then(
      () => {
        this.#isAnswered = true;
      },
      () => this.stop(), // the engine is gone, which its exit tells
    );
  }
}
