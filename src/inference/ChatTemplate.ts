import { Template } from '@huggingface/jinja';
import type { ChatMessage, StepBackend, TemplateFacts } from '../platform/index.js';
import { platformError } from '../platform/index.js';
import { inferenceError } from './errors.js';

/** The tokenizer of a model and what its template refers to: an engine's backend, or a vocabulary alone. */
export interface TemplateBackend {
  readonly facts: TemplateFacts;
  readonly tokenize: StepBackend['tokenize'];
}

// Control characters that no template writes. Contents are never rendered, so a content that holds a marker cannot be mistaken for one.
const markerOf = (index: number): string => `\u0001${index}\u0002`;
const markerForm = /\u0001(\d+)\u0002/;

/**
 * Writes chat messages as the model was trained on them (R22). Only the template's own parts may become control tokens: it is rendered
 * with markers in place of the contents, which are tokenised apart as plain text. No begin token is added, since templates write it.
 * Errors: MODEL_INVALID (the template cannot be parsed), CHAT_REFUSED.
 */
export class ChatTemplate {
  readonly #backend: TemplateBackend;
  readonly #template: Template | undefined;

  constructor(backend: TemplateBackend) {
    this.#backend = backend;
    this.#template = parseTemplate(backend.facts.chatTemplate);
  }

  /** Token ids of the conversation, ending where the assistant's answer begins. */
  encode(messages: readonly ChatMessage[]): Int32Array {
    // Split at the markers: even parts are the template's, odd ones the number of a message.
    const parts = this.#render(messages).split(markerForm);
    const pieces = parts.map((part, index) => {
      if (index % 2 === 0) return this.#backend.tokenize(part, { parseSpecial: true });
      return this.#backend.tokenize((messages[Number(part)] as ChatMessage).content, { parseSpecial: false });
    });
    return joined(pieces);
  }

  /**
   * Token ids of an answer as the model should give it: its text, then the token with which the template ends an assistant's turn.
   * `messages` is the conversation before it.
   */
  encodeAnswer(messages: readonly ChatMessage[], answer: string): Int32Array {
    const text = this.#backend.tokenize(answer, { parseSpecial: false });
    return joined([text, Int32Array.of(this.#endOfTurn(messages))]);
  }

  #endOfTurn(messages: readonly ChatMessage[]): number {
    const { endTokens, endText } = this.#backend.facts;
    const parts = this.#render([...messages, { role: 'assistant', content: '' }], { asksForAnswer: false }).split(markerForm);
    const tail = this.#backend.tokenize(parts.at(-1) ?? '', { parseSpecial: true });
    // A template that ends no turns, or none at all: the token that ends a text.
    const ends = [...tail, ...this.#backend.tokenize(endText, { parseSpecial: true }), ...endTokens];
    const end = ends.find((token) => endTokens.has(token));
    if (end === undefined) throw platformError('MODEL_INVALID', 'the model has no token that ends an answer');
    return end;
  }

  #render(messages: readonly ChatMessage[], options = { asksForAnswer: true }): string {
    const marked = messages.map(({ role }, index) => ({ role, content: markerOf(index) }));
    if (this.#template === undefined) return marked.map(({ content }) => content).join('\n\n');
    const { beginText, endText } = this.#backend.facts;
    try {
      return this.#template.render({
        messages: marked,
        add_generation_prompt: options.asksForAnswer,
        bos_token: beginText,
        eos_token: endText,
      });
    } catch (cause) {
      throw inferenceError('CHAT_REFUSED', `the chat template refuses the messages: ${cause instanceof Error ? cause.message : cause}`, {
        cause,
      });
    }
  }
}

/** A model without a template is a plain one: it continues the contents, one paragraph each. */
function parseTemplate(source: string): Template | undefined {
  if (source === '') return undefined;
  try {
    return new Template(source);
  } catch (cause) {
    throw platformError('MODEL_INVALID', 'the chat template of the model cannot be parsed', { cause });
  }
}

function joined(pieces: readonly Int32Array[]): Int32Array {
  const tokens = new Int32Array(pieces.reduce((total, piece) => total + piece.length, 0));
  let offset = 0;
  for (const piece of pieces) {
    tokens.set(piece, offset);
    offset += piece.length;
  }
  return tokens;
}
