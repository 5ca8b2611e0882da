import { toolCallForm } from '../../../platform/index.js';

export type AnswerPart =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'call'; readonly call: number; readonly name: string }
  | { readonly kind: 'arguments'; readonly call: number; readonly text: string }
  | { readonly kind: 'callEnded'; readonly call: number };

type Reading = 'start' | 'plain' | 'text' | 'name' | 'arguments' | 'end';

const { opening, beforeName, beforeArguments, afterArguments } = toolCallForm;

/**
 * Tells the text of an answer from its calls (`toolCallForm`), as it comes: parts joined are the same however the text was cut. White space
 * between text and a call belongs to neither. The engine's grammar sees to it that what follows an opening is a call; a cut answer may end
 * within one.
 */
export class ToolCallReader {
  readonly #isRequired: boolean;
  #reading: Reading;
  #held = '';
  #call = -1;
  readonly #json = new ObjectEnd();

  /**
   * `isRequired`: the answer has no text; the beginning of a call that was cut is none. `isEither`: it is text or calls, as its first
   * characters tell, and an opening within the text is text.
   */
  constructor(options: { readonly isRequired: boolean; readonly isEither: boolean }) {
    this.#isRequired = options.isRequired;
    this.#reading = options.isEither ? 'start' : 'text';
  }

  /** The answer does not end within a call, and has at least one. */
  get hasWholeCalls(): boolean {
    return this.#call >= 0 && (this.#reading === 'text' || this.#reading === 'end');
  }

  push(text: string): readonly AnswerPart[] {
    this.#held += text;
    const parts: AnswerPart[] = [];
    while (this.#step(parts));
    return parts;
  }

  /** What was held back, in case it became a call. */
  finish(): readonly AnswerPart[] {
    const isOutside = this.#reading === 'text' || this.#reading === 'start';
    const isText = isOutside && this.#held !== '' && this.#call < 0 && !this.#isRequired;
    return isText ? [{ kind: 'text', text: this.#held }] : [];
  }

  /** Whether there may be more to read. */
  #step(parts: AnswerPart[]): boolean {
    switch (this.#reading) {
      case 'start':
        if (this.#held.length < opening.length && opening.startsWith(this.#held)) return false;
        return this.#goOn(0, this.#held.startsWith(opening) ? 'text' : 'plain');
      case 'plain':
        if (this.#held !== '') parts.push({ kind: 'text', text: this.#held });
        this.#held = '';
        return false;
      case 'text':
        return this.#readText(parts);
      case 'name':
        return this.#readName(parts);
      case 'arguments':
        return this.#readArguments(parts);
      case 'end':
        if (this.#held.length < afterArguments.length) return false;
        return this.#goOn(afterArguments.length, 'text');
    }
  }

  #readText(parts: AnswerPart[]): boolean {
    const start = this.#held.indexOf(opening);
    const border = start < 0 ? this.#held.length - partOfOpening(this.#held) : start;
    const text = this.#held.slice(0, border).trimEnd();
    if (text !== '') parts.push({ kind: 'text', text });
    if (start >= 0) return this.#goOn(start + opening.length, 'name');
    this.#held = this.#held.slice(text.length);
    return false;
  }

  #readName(parts: AnswerPart[]): boolean {
    const end = this.#held.indexOf(beforeArguments, beforeName.length);
    if (end < 0) return false;
    parts.push({ kind: 'call', call: ++this.#call, name: this.#held.slice(beforeName.length, end) });
    return this.#goOn(end + beforeArguments.length, 'arguments');
  }

  #readArguments(parts: AnswerPart[]): boolean {
    const end = this.#json.find(this.#held);
    const text = this.#held.slice(0, end);
    if (text !== '') parts.push({ kind: 'arguments', call: this.#call, text });
    if (end !== undefined) parts.push({ kind: 'callEnded', call: this.#call });
    return this.#goOn(text.length, end === undefined ? 'arguments' : 'end') && end !== undefined;
  }

  #goOn(read: number, reading: Reading): true {
    this.#held = this.#held.slice(read);
    this.#reading = reading;
    return true;
  }
}

/** Length of the end of a text that may become an opening. */
function partOfOpening(text: string): number {
  for (let length = Math.min(opening.length - 1, text.length); length > 0; length--) {
    if (opening.startsWith(text.slice(-length))) return length;
  }
  return 0;
}

/** Finds where an object ends that comes in parts; then begins with the next. */
class ObjectEnd {
  #depth = 0;
  #isText = false;
  #isEscaped = false;

  /** Just behind the last bracket, if it is in this part. */
  find(part: string): number | undefined {
    for (let place = 0; place < part.length; place++) {
      this.#read(part[place] as string);
      if (this.#depth === 0 && !this.#isText) return place + 1;
    }
    return undefined;
  }

  #read(character: string): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (this.#isText && character === '\\') this.#isEscaped = true;
    else if (character === '"') this.#isText = !this.#isText;
    else if (this.#isText) return;
    else if (character === '{' || character === '[') this.#depth++;
    else if (character === '}' || character === ']') this.#depth--;
  }
}
