import type { TrainingProgress } from '../../training/index.js';

/** Steps, loss and time left: one line redrawn on a terminal, a line every tenth elsewhere (R38). Writes to standard error. */
export class TrainingBar {
  readonly #label: string;
  readonly #isTerminal = process.stderr.isTTY === true;
  #lastTenth = -1;
  #isOpen = false;

  constructor(options: { readonly label: string }) {
    this.#label = options.label;
  }

  update({ step, steps, loss, stepMs, leftMs }: TrainingProgress): void {
    const figures = `step ${step}/${steps}  loss ${loss.toFixed(4)}  ${(stepMs / 1000).toFixed(2)} s a step  ${duration(leftMs)} left`;
    if (this.#isTerminal) this.#draw(step / steps, figures);
    else this.#line(Math.floor((step / steps) * 10), figures);
  }

  end(): void {
    if (this.#isOpen) process.stderr.write('\n');
    this.#isOpen = false;
  }

  #draw(share: number, figures: string): void {
    const filled = Math.round(share * 24);
    this.#isOpen = true;
    process.stderr.write(`\r${this.#label} ${'█'.repeat(filled)}${'░'.repeat(24 - filled)} ${figures} \u001b[K`);
  }

  #line(tenth: number, figures: string): void {
    if (tenth <= this.#lastTenth) return;
    this.#lastTenth = tenth;
    process.stderr.write(`${this.#label} ${figures}\n`);
  }
}

const duration = (milliseconds: number): string => {
  const seconds = Math.round(milliseconds / 1000);
  return seconds < 90 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
};
