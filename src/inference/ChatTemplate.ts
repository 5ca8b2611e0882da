import { OstrakaError } from '../base/index.js';
import type { ChatMessage, Clock, StepBackend, TemplateFacts, ToolDefinition } from '../platform/index.js';
import { platformError } from '../platform/index.js';
import { inferenceError } from './errors.js';
import { type MarkedPiece, MarkedTexts } from './MarkedTexts.js';
import { type ParsedTemplate, parseTemplate } from './template/parseTemplate.js';
import { renderTemplate } from './template/renderTemplate.js';
import { templateLimits } from './template/templateLimits.js';
import { plainMessages } from './tools/plainMessages.js';
import { toolMarks } from './tools/toolMarks.js';

/** The tokenizer of a model and what its template refers to: an engine's backend, or a vocabulary alone. */
export interface TemplateBackend {
  readonly facts: TemplateFacts;
  readonly tokenize: StepBackend['tokenize'];
}

interface Conversation {
  readonly messages: readonly object[];
  readonly tools?: readonly unknown[];
}

/**
 * Writes chat messages as the model was trained on them (R22). Only the template's own parts may become control tokens: it is rendered
 * with markers in place of what comes from outside, which is tokenised apart as plain text. No begin token is added, since templates write
 * it. A template that knows the calls of `toolCallForm` is given the tools; for others they are written into the messages.
 * Errors: MODEL_INVALID (the template cannot be parsed), CHAT_REFUSED (it refuses the messages, or goes beyond
 * `templateLimits`).
 */
export class ChatTemplate {
  readonly #backend: TemplateBackend;
  readonly #clock: Pick<Clock, 'nowMs'>;
  readonly #template: ParsedTemplate | undefined;
  readonly #knowsTools: boolean;

  constructor(backend: TemplateBackend, clock: Pick<Clock, 'nowMs'>) {
    const { chatTemplate } = backend.facts;
    this.#backend = backend;
    this.#clock = clock;
    this.#template = parseTemplate(chatTemplate);
    this.#knowsTools = chatTemplate.includes('<tool_call>') && /\btools\b/.test(chatTemplate);
  }

  /** Token ids of the conversation, ending where the assistant's answer begins. */
  encode(messages: readonly ChatMessage[], tools: readonly ToolDefinition[] = []): Int32Array {
    return this.tokenize(this.write(messages, tools));
  }

  /** The conversation as the template writes it: its own parts and texts from outside, none of them empty. Errors: CHAT_REFUSED. */
  write(messages: readonly ChatMessage[], tools: readonly ToolDefinition[] = []): readonly MarkedPiece[] {
    const texts = new MarkedTexts();
    const pieces = texts.split(this.#render(this.#conversation(messages, tools, texts))).filter(({ text }) => text !== '');
    if (pieces.length === 0) throw inferenceError('CHAT_REFUSED', 'nothing is written of these messages: they are empty, or left out');
    return pieces;
  }

  tokenize(pieces: readonly MarkedPiece[]): Int32Array {
    return joined(pieces.map(({ text, isMarked }) => this.#backend.tokenize(text, { parseSpecial: !isMarked })));
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
    const texts = new MarkedTexts();
    const conversation = this.#conversation([...messages, { role: 'assistant', content: '' }], [], texts);
    const last = texts.split(this.#render(conversation, { asksForAnswer: false })).at(-1);
    const tail = last === undefined || last.isMarked ? [] : this.#backend.tokenize(last.text, { parseSpecial: true });
    // A template that ends no turns, or none at all: the token that ends a text.
    const ends = [...tail, ...this.#backend.tokenize(endText, { parseSpecial: true }), ...endTokens];
    const end = ends.find((token) => endTokens.has(token));
    if (end === undefined) throw platformError('MODEL_INVALID', 'the model has no token that ends an answer');
    return end;
  }

  #conversation(messages: readonly ChatMessage[], tools: readonly ToolDefinition[], texts: MarkedTexts): Conversation {
    const hasTools = tools.length > 0 || messages.some(({ role, toolCalls }) => role === 'tool' || toolCalls !== undefined);
    if (!hasTools || !this.#knowsTools) {
      const plain = hasTools ? plainMessages(messages, tools) : messages;
      return { messages: plain.map(({ role, content }) => ({ role, content: texts.mark(content) })) };
    }
    const definitions = tools.map(({ name, description = '', parameters }) => ({
      type: 'function',
      function: { name, description, parameters },
    }));
    return {
      messages: messages.map((message) => messageWithTools(message, texts)),
      ...(tools.length > 0 && { tools: definitions.map((each) => texts.markWithin(each)) }),
    };
  }

  #render(conversation: Conversation, options = { asksForAnswer: true }): string {
    if (this.#template === undefined)
      return conversation.messages.map((message) => (message as { readonly content: string }).content).join('\n\n');
    const { beginText, endText } = this.#backend.facts;
    const given = {
      ...conversation,
      add_generation_prompt: options.asksForAnswer,
      bos_token: beginText,
      eos_token: endText,
    };
    try {
      return renderTemplate(this.#template, given, this.#clock.nowMs());
    } catch (cause) {
      throw cause instanceof OstrakaError ? cause : refusal(cause);
    }
  }
}

/** In the template's own words, which may be long. */
const refusal = (cause: unknown): OstrakaError => {
  const words = cause instanceof Error ? cause.message : String(cause);
  const shown = words.slice(0, templateLimits.messageCharactersMax);
  return inferenceError('CHAT_REFUSED', `the chat template refuses the messages: ${shown}`, { cause });
};

/** In the shape that templates with tools read. An empty content is none: templates ask for it. */
function messageWithTools({ role, content, toolCalls, toolCallId }: ChatMessage, texts: MarkedTexts): object {
  const calls = toolCalls?.map((call) => ({
    id: call.id,
    type: 'function',
    function: { name: call.name, arguments: parsed(call.arguments) },
  }));
  return {
    role,
    content: content === '' ? '' : texts.mark(toolMarks.withoutMarks(content)),
    ...(calls && { tool_calls: calls.map((call) => texts.markWithin(call)) }),
    ...(toolCallId !== undefined && { tool_call_id: texts.markWithin(toolCallId) }),
  };
}

const parsed = (json: string): unknown => {
  try {
    return JSON.parse(json);
  } catch {
    return json;
  }
};

function joined(pieces: readonly Int32Array[]): Int32Array {
  const tokens = new Int32Array(pieces.reduce((total, piece) => total + piece.length, 0));
  let offset = 0;
  for (const piece of pieces) {
    tokens.set(piece, offset);
    offset += piece.length;
  }
  return tokens;
}
