import { toolMarks } from './tools/toolMarks.js';

// Of the private use area: no template writes them, and JSON leaves them as they are.
const markerOf = (index: number): string => `\uE000${index}\uE001`;
const markerForm = /\uE000(\d+)\uE001/;
/** Cannot be a control token, whatever stands around it. */
const harmless = /^[A-Za-z0-9 _.,:;!?'()/-]*$/;

export interface MarkedPiece {
  readonly text: string;
  /** Whether it came from outside. */
  readonly isMarked: boolean;
}

/** Texts that a template must not see, each with the marker that stands for it: a text that holds a marker is never taken for one. */
export class MarkedTexts {
  readonly #texts: string[] = [];

  mark(text: string): string {
    return markerOf(this.#texts.push(text) - 1);
  }

  /** The value with every string that is not harmless marked, as it stands in JSON: templates write such values as JSON. */
  markWithin(value: unknown): unknown {
    if (typeof value === 'string') return harmless.test(value) ? value : this.mark(toolMarks.json(value).slice(1, -1));
    if (Array.isArray(value)) return value.map((each) => this.markWithin(each));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [this.markWithin(name), this.markWithin(each)]));
  }

  /** What a template made of the markers: its own parts, and the texts in their places, in turn. */
  split(rendered: string): readonly MarkedPiece[] {
    return rendered.split(markerForm).map((part, index) => (index % 2 === 0 ? { text: part, isMarked: false } : this.#textOf(part)));
  }

  /** A template that writes, or changes, a marker itself may have written one that stands for nothing. */
  #textOf(number: string): MarkedPiece {
    return { text: this.#texts[Number(number)] ?? '', isMarked: true };
  }
}
