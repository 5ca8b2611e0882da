import type { BackendRow, StepBackend } from '../src/platform/index.js';

/** What was seen since the last look. */
export interface MeteredSteps {
  readonly steps: number;
  /** From the beginning of a step to the beginning of the next. */
  readonly wholeMs: number;
  /** Of that, inside the backend: decoding, and moving rows of sequences. */
  readonly nativeMs: number;
}

const noSteps: MeteredSteps = { steps: 0, wholeMs: 0, nativeMs: 0 };

/**
 * Measures decode steps of so many sequences, one directly after another: how long each takes as a whole, and how much of it is spent inside
 * the backend. What an engine does with logits and bytes of tokens is its own work and counts as outside.
 */
export class StepMeter {
  readonly #sequences: number;
  #seen = noSteps;
  /** When the newest step of all sequences began; undefined: another step, or none, came since. */
  #beganMs: number | undefined;
  #nativeMs = 0;

  constructor(sequences: number) {
    this.#sequences = sequences;
  }

  take(): MeteredSteps {
    const seen = this.#seen;
    this.#seen = noSteps;
    this.#beganMs = undefined;
    return seen;
  }

  wrap(backend: StepBackend): StepBackend {
    const native = <Value>(work: () => Value): Value => this.#native(work);
    return {
      facts: backend.facts,
      tokenize: (text, options) => backend.tokenize(text, options),
      tokenBytes: (token) => backend.tokenBytes(token),
      logits: (rowIndex) => backend.logits(rowIndex),
      decode: (rows) => {
        this.#stepBegins(rows);
        native(() => backend.decode(rows));
      },
      truncateSequence: (sequence, fromPosition) => native(() => backend.truncateSequence(sequence, fromPosition)),
      moveSequence: (from, to) => native(() => backend.moveSequence(from, to)),
      copySequence: (from, to) => native(() => backend.copySequence(from, to)),
      sequenceLength: (sequence) => native(() => backend.sequenceLength(sequence)),
      exportSequence: (sequence) => native(() => backend.exportSequence(sequence)),
      importSequence: (sequence, state, length) => native(() => backend.importSequence(sequence, state, length)),
      useAdapter: (adapter) => native(() => backend.useAdapter(adapter)),
      loadAdapter: (adapter) => native(() => backend.loadAdapter(adapter)),
      unloadAdapter: (digest) => native(() => backend.unloadAdapter(digest)),
      close: () => backend.close(),
    };
  }

  #native<Value>(work: () => Value): Value {
    const beganMs = performance.now();
    try {
      return work();
    } finally {
      this.#nativeMs += performance.now() - beganMs;
    }
  }

  #stepBegins(rows: readonly BackendRow[]): void {
    const nowMs = performance.now();
    const isWhole = new Set(rows.map(({ sequence }) => sequence)).size === this.#sequences;
    if (isWhole && this.#beganMs !== undefined) {
      const { steps, wholeMs, nativeMs } = this.#seen;
      this.#seen = { steps: steps + 1, wholeMs: wholeMs + nowMs - this.#beganMs, nativeMs: nativeMs + this.#nativeMs };
    }
    this.#beganMs = isWhole ? nowMs : undefined;
    this.#nativeMs = 0;
  }
}
