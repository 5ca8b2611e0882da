import type { Clock, StepPacer } from '../../src/platform/index.js';

/** Cost of a step in virtual milliseconds; the defaults of `simStepCost` are those of the default chat model on one core. */
export interface SimStepCost {
  readonly prefillRowMs: number;
  readonly decodeStepMs: number;
  readonly decodeRowMs: number;
  readonly embedRowMs: number;
}

export const simStepCost: SimStepCost = { prefillRowMs: 1.5, decodeStepMs: 8, decodeRowMs: 3, embedRowMs: 0.2 };

/** Sleeps what a step would have taken. */
export class SimStepPacer implements StepPacer {
  readonly #clock: Clock;
  readonly #cost: SimStepCost;

  #hang: Promise<void> | undefined;
  #release = (): void => undefined;

  constructor(clock: Clock, cost: SimStepCost) {
    this.#clock = clock;
    this.#cost = cost;
  }

  get isHung(): boolean {
    return this.#hang !== undefined;
  }

  /** No step ends any more: a native call that never returns, a stopped process. */
  hang(): void {
    this.#hang ??= new Promise((resolve) => {
      this.#release = resolve;
    });
  }

  /** The process is killed: what hung is gone. */
  release(): void {
    this.#hang = undefined;
    this.#release();
  }

  async after(step: { readonly prefillRows: number; readonly decodeRows: number; readonly embedRows: number }): Promise<void> {
    const { prefillRowMs, decodeStepMs, decodeRowMs, embedRowMs } = this.#cost;
    const decodeMs = step.decodeRows === 0 ? 0 : decodeStepMs + step.decodeRows * decodeRowMs;
    await this.#clock.sleep(step.prefillRows * prefillRowMs + decodeMs + step.embedRows * embedRowMs);
    await this.#hang;
  }
}
