import { toOstrakaError } from '../../base/index.js';
import { parseChatLine } from './parseChatLine.js';

export interface ChatTurn {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

export interface ChatQuestion {
  readonly model: string;
  readonly domain: string | undefined;
  readonly messages: readonly ChatTurn[];
}

/** A part of an answer: text, or a word about it. */
export type AnswerPiece = { readonly kind: 'text' | 'note'; readonly text: string };

interface Parts {
  readonly ask: (question: ChatQuestion, signal: AbortSignal) => AsyncIterable<AnswerPiece>;
  /** The answers. */
  readonly write: (text: string) => void;
  /** All that is not an answer. */
  readonly note: (text: string) => void;
  /** Rejects where the file is there. */
  readonly save: (file: string, text: string) => Promise<void>;
}

const help = `/system [TEXT|-]  show, set or drop the system prompt
/domain [NAME|-]  show, set or drop the domain
/reset            forget what was said
/save FILE        write the conversation as JSON to a new file
/exit             leave (or Ctrl-D); Ctrl-C stops an answer, a second one leaves
//TEXT            say a text that begins with a slash
`;

/**
 * A conversation at a terminal: what was said, and the commands beside it. The server is told everything each time and refuses what is too
 * long; nothing is dropped unasked. An answer that was stopped stays as far as it was shown; a question that failed is as if not asked.
 */
export class ChatSession {
  readonly #parts: Parts;
  readonly #model: string;
  #system: string | undefined;
  #domain: string | undefined;
  #said: readonly ChatTurn[] = [];
  #running: AbortController | undefined;
  /** Questions that failed. */
  failures = 0;

  constructor(start: { readonly model: string; readonly domain: string | undefined; readonly system: string | undefined }, parts: Parts) {
    this.#model = start.model;
    this.#domain = start.domain;
    this.#system = start.system;
    this.#parts = parts;
  }

  /** Stops the answer that runs. False: none does. */
  stop(): boolean {
    if (this.#running === undefined || this.#running.signal.aborted) return false;
    this.#running.abort();
    return true;
  }

  /** False: the conversation is over. */
  async take(line: string): Promise<boolean> {
    const asked = parseChatLine(line);
    switch (asked.kind) {
      case 'nothing':
        return true;
      case 'exit':
        return false;
      case 'say':
        await this.#say(asked.text);
        return true;
      case 'save':
        await this.#save(asked.file);
        return true;
      case 'help':
        this.#parts.note(help);
        return true;
      case 'wrong':
        this.#parts.note(`${asked.message}\n`);
        return true;
      case 'reset':
        this.#said = [];
        this.#parts.note('forgotten\n');
        return true;
      case 'system':
        this.#system = this.#changed('system prompt', this.#system, asked.value);
        return true;
      case 'domain':
        this.#domain = this.#changed('domain', this.#domain, asked.value);
        return true;
    }
  }

  #changed(what: string, before: string | undefined, value: string | undefined): string | undefined {
    const after = value === undefined ? before : value === '-' ? undefined : value;
    this.#parts.note(`${what}: ${after ?? '(none)'}\n`);
    return after;
  }

  #messages(): readonly ChatTurn[] {
    return this.#system === undefined ? this.#said : [{ role: 'system', content: this.#system }, ...this.#said];
  }

  async #say(content: string): Promise<void> {
    const before = this.#said;
    const question: ChatTurn = { role: 'user', content };
    this.#said = [...before, question];
    const running = new AbortController();
    this.#running = running;
    let answer = '';
    try {
      const asked = { model: this.#model, domain: this.#domain, messages: this.#messages() };
      for await (const { kind, text } of this.#parts.ask(asked, running.signal)) {
        if (kind === 'text') answer += text;
        this.#parts[kind === 'text' ? 'write' : 'note'](text);
      }
    } catch (thrown) {
      if (!running.signal.aborted) this.#failed(thrown, answer);
    } finally {
      this.#running = undefined;
    }
    if (answer !== '') this.#parts.write('\n');
    if (running.signal.aborted) this.#parts.note('(stopped)\n');
    this.#said = answer === '' ? before : [...before, question, { role: 'assistant', content: answer }];
  }

  #failed(thrown: unknown, answer: string): void {
    this.failures++;
    const { message, code } = toOstrakaError(thrown);
    const hint = code.toLowerCase() === 'context_length_exceeded' ? '; /reset begins anew' : '';
    this.#parts.note(`${answer === '' ? '' : '\n'}ostraka: ${message} [${code}]${hint}\n`);
  }

  async #save(file: string): Promise<void> {
    const conversation = { model: this.#model, domain: this.#domain ?? null, messages: this.#messages() };
    try {
      await this.#parts.save(file, `${JSON.stringify(conversation, undefined, 2)}\n`);
      this.#parts.note(`written to ${file}\n`);
    } catch (error) {
      this.failures++;
      this.#parts.note(`ostraka: ${file} cannot be written: ${error instanceof Error ? error.message : error}\n`);
    }
  }
}
