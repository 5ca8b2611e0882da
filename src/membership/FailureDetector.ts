export type Health = 'alive' | 'suspect' | 'dead';

interface Evidence {
  readonly incarnation: number;
  /** When the peer first failed to answer after its last sign of life. */
  readonly suspectSinceMs: number | undefined;
  readonly refused: boolean;
}

/**
 * Judges peers from direct exchanges: no answer makes a suspect, silence for `deadAfterMs` or a refused connection makes it dead, any
 * sign of life or a new incarnation makes it alive. Steers routing only: it never changes who owns data.
 */
export class FailureDetector {
  readonly #deadAfterMs: number;
  readonly #evidence = new Map<string, Evidence>();

  constructor(options: { readonly deadAfterMs: number }) {
    this.#deadAfterMs = options.deadAfterMs;
  }

  signOfLife(shardId: string, incarnation: number): void {
    this.#evidence.set(shardId, { incarnation, suspectSinceMs: undefined, refused: false });
  }

  noAnswer(shardId: string, incarnation: number, failure: { readonly refused: boolean; readonly nowMs: number }): void {
    const known = this.#evidence.get(shardId);
    if (known && known.incarnation > incarnation) return;
    // What an earlier incarnation did says nothing of this one.
    const before = known?.incarnation === incarnation ? known : undefined;
    const suspectSinceMs = before?.suspectSinceMs ?? failure.nowMs;
    this.#evidence.set(shardId, { incarnation, suspectSinceMs, refused: failure.refused || (before?.refused ?? false) });
  }

  healthOf(shardId: string, incarnation: number, nowMs: number): Health {
    const known = this.#evidence.get(shardId);
    if (!known || known.suspectSinceMs === undefined || incarnation > known.incarnation) return 'alive';
    return known.refused || nowMs - known.suspectSinceMs >= this.#deadAfterMs ? 'dead' : 'suspect';
  }
}
