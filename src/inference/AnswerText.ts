export interface AnswerPart {
  /** Text that can be shown: it cannot become part of a stop string, and ends at a character border. */
  readonly text: string;
  /** The stop string that is complete, if one is: generation ends, and what came after it is dropped. */
  readonly stop: string | undefined;
}

/**
 * Turns the bytes of an answer's tokens into text that is safe to emit. Holds back an unfinished UTF-8 character, and the longest end
 * that may still grow into a stop string. Where several stop strings complete, the first to be complete counts, and the longest of those
 * that complete together: so the cut does not depend on how the text fell into tokens. From `stopsBefore` on stop strings mean nothing.
 */
export class AnswerText {
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  readonly #stopsBefore: string | undefined;
  #stops: readonly string[];
  #held = '';
  /** The end of what was shown, in which `stopsBefore` may have begun. */
  #tail = '';

  constructor(stops: readonly string[], stopsBefore?: string) {
    this.#stops = stops.filter((stop) => stop.length > 0);
    this.#stopsBefore = stopsBefore;
  }

  push(bytes: Uint8Array): AnswerPart {
    const text = this.#held + this.#decoder.decode(bytes, { stream: true });
    const first = this.#stopIn(text);
    const border = this.#borderIn(text);
    if (first !== undefined && (border === undefined || first.end <= border)) {
      this.#held = '';
      return { text: text.slice(0, first.start), stop: first.stop };
    }
    if (border !== undefined) this.#stops = [];
    const safe = text.length - this.#heldLength(text);
    this.#held = text.slice(safe);
    const shown = text.slice(0, safe);
    if (this.#stopsBefore !== undefined) this.#tail = (this.#tail + shown).slice(-this.#stopsBefore.length);
    return { text: shown, stop: undefined };
  }

  /** What is held when generation ends without a stop string; the bytes of an unfinished character are dropped. */
  finish(): string {
    const text = this.#held;
    this.#held = '';
    return text;
  }

  /** The stop string that completes first. */
  #stopIn(text: string): { readonly stop: string; readonly start: number; readonly end: number } | undefined {
    let first: { readonly stop: string; readonly start: number; readonly end: number } | undefined;
    for (const stop of this.#stops) {
      const start = text.indexOf(stop);
      if (start < 0) continue;
      const end = start + stop.length;
      if (first === undefined || end < first.end || (end === first.end && start < first.start)) first = { stop, start, end };
    }
    return first;
  }

  /** Where `stopsBefore` is complete, if it is by now. */
  #borderIn(text: string): number | undefined {
    if (this.#stopsBefore === undefined || this.#stops.length === 0) return undefined;
    const start = (this.#tail + text).indexOf(this.#stopsBefore);
    return start < 0 ? undefined : start + this.#stopsBefore.length - this.#tail.length;
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
