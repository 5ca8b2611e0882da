/** A bar with rate and remaining time on a terminal, a line every tenth elsewhere (R38). Writes to standard error. */
export class ProgressBar {
  readonly #label: string;
  readonly #isTerminal = process.stderr.isTTY === true;
  readonly #startedMs = performance.now();
  #lastTenth = -1;
  #isOpen = false;

  constructor(options: { readonly label: string }) {
    this.#label = options.label;
  }

  /** `done` and `total` in bytes. */
  update(done: number, total: number): void {
    const share = total === 0 ? 1 : Math.min(1, done / total);
    if (this.#isTerminal) this.#draw(share, done, total);
    else this.#line(share);
  }

  end(): void {
    if (this.#isOpen) process.stderr.write('\n');
    this.#isOpen = false;
  }

  #draw(share: number, done: number, total: number): void {
    const seconds = (performance.now() - this.#startedMs) / 1000;
    const rate = done / Math.max(seconds, 0.001);
    const left = rate > 0 ? (total - done) / rate : 0;
    const filled = Math.round(share * 24);
    const bar = `${'█'.repeat(filled)}${'░'.repeat(24 - filled)}`;
    this.#isOpen = true;
    process.stderr.write(
      `\r${this.#label} ${bar} ${megabytes(done)}/${megabytes(total)} MB  ${megabytes(rate)} MB/s  ${left.toFixed(0)} s left \u001b[K`,
    );
  }

  #line(share: number): void {
    const tenth = Math.floor(share * 10);
    if (tenth <= this.#lastTenth) return;
    this.#lastTenth = tenth;
    process.stderr.write(`${this.#label} ${tenth * 10} %\n`);
  }
}

const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(1);
