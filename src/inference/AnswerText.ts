export interface AnswerPart {
  /** Text that can be shown: it cannot become part of a stop string, and ends at a character border. */
  readonly text: string;
  /** A stop string is complete; generation ends and what came after it is dropped. */
  readonly stopped: boolean;
}

/**
 * Turns the bytes of an answer's tokens into text that is safe to emit. Holds back an unfinished UTF-8 character, and the longest end
 * that may still grow into a stop string. Where several stop strings complete, the first to be complete counts, and the longest of those
 * that complete together: so the cut does not depend on how the text fell into tokens.
 */
export class AnswerText {
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  readonly #stops: readonly string[];
  #held = '';

  constructor(stops: readonly string[]) {
    this.#stops = stops.filter((stop) => stop.length > 0);
  }

  push(bytes: Uint8Array): AnswerPart {
    const text = this.#held + this.#decoder.decode(bytes, { stream: true });
    const cut = this.#stopAt(text);
    if (cut >= 0) {
      this.#held = '';
      return { text: text.slice(0, cut), stopped: true };
    }
    const safe = text.length - this.#heldLength(text);
    this.#held = text.slice(safe);
    return { text: text.slice(0, safe), stopped: false };
  }

  /** What is held when generation ends without a stop string; the bytes of an unfinished character are dropped. */
  finish(): string {
    const text = this.#held;
    this.#held = '';
    return text;
  }

  /** Start of the stop string that completes first, or -1. */
  #stopAt(text: string): number {
    let startOfFirst = -1;
    let endOfFirst = Number.POSITIVE_INFINITY;
    for (const stop of this.#stops) {
      const start = text.indexOf(stop);
      if (start < 0) continue;
      const end = start + stop.length;
      if (end < endOfFirst || (end === endOfFirst && start < startOfFirst)) {
        startOfFirst = start;
        endOfFirst = end;
      }
    }
    return startOfFirst;
  }

  #heldLength(text: string): number {
    let held = 0;
    for (const stop of this.#stops) {
      for (let length = Math.min(stop.length - 1, text.length); length > held; length--) {
        if (stop.startsWith(text.slice(text.length - length))) held = length;
      }
    }
    return held;
  }
}
