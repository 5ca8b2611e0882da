/** Aborts a transfer in which too little comes: the time to the next `bytesMin` is bounded, the first of them included. */
export class ProgressWatch {
  readonly #ms: number;
  readonly #bytesMin: number;
  readonly #onStalled: () => void;
  #timer: NodeJS.Timeout;
  #bytes = 0;

  constructor(options: { readonly ms: number; readonly bytesMin: number; readonly onStalled: () => void }) {
    this.#ms = options.ms;
    this.#bytesMin = options.bytesMin;
    this.#onStalled = options.onStalled;
    this.#timer = setTimeout(options.onStalled, options.ms);
  }

  came(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes < this.#bytesMin) return;
    this.#bytes = 0;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#onStalled, this.#ms);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
