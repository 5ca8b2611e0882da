import { assert } from '../base/index.js';
import { type ChatMessage, type Clock, type GenerateRequest, platformError, type StepBackend } from '../platform/index.js';
import { ChatTemplate } from './ChatTemplate.js';

/** A text of fewer characters a token of context is tokenised without more ado. */
const usualTokenCharacters = 32;

const charactersOf = ({ prompt = '', messages, tools }: GenerateRequest): number => {
  const ofTools = tools === undefined ? 0 : JSON.stringify(tools.tools).length;
  const ofCalls = (calls: ChatMessage['toolCalls'] = []): number => calls.reduce((sum, call) => sum + call.arguments.length, 0);
  return messages.reduce((sum, each) => sum + each.content.length + ofCalls(each.toolCalls), prompt.length + ofTools);
};

const longestToken = (backend: StepBackend): number => {
  let longest = 1;
  for (let token = 0; token < backend.facts.vocabularySize; token++) longest = Math.max(longest, backend.tokenBytes(token).length);
  return longest;
};

/** Prompts as tokens: a chat through the model's template, a plain text as it stands. Errors: CONTEXT_LENGTH_EXCEEDED with both numbers, CHAT_REFUSED. */
export class PromptEncoder {
  readonly #backend: StepBackend;
  readonly #template: ChatTemplate;
  #longestTokenBytes: number | undefined;

  /** Errors: MODEL_INVALID (a chat template that cannot be parsed). */
  constructor(backend: StepBackend, clock: Pick<Clock, 'nowMs'>) {
    this.#backend = backend;
    this.#template = new ChatTemplate(backend, clock);
  }

  /** The prompt of a request that fits into the context with the tokens it asks for. */
  encode(request: GenerateRequest): Int32Array {
    const { sampling, prompt: text } = request;
    this.#checkTexts({ characters: charactersOf(request), texts: 0 }, sampling.tokensMax);
    const prompt = text === undefined ? this.#encodeChat(request) : this.#encodePrompt(text);
    this.#checkLength(prompt.length, sampling.tokensMax);
    return prompt;
  }

  /** What a template makes of the messages may be far longer than they are. */
  #encodeChat({ messages, tools, sampling }: GenerateRequest): Int32Array {
    const pieces = this.#template.write(messages, tools?.tools);
    const characters = pieces.reduce((sum, { text }) => sum + text.length, 0);
    this.#checkTexts({ characters, texts: pieces.length }, sampling.tokensMax);
    return this.#template.tokenize(pieces);
  }

  /**
   * A text far too long is refused before it is tokenised, which takes a second for 3 MB and holds everyone up: no token is longer than
   * the longest, so that the text has at least so many; and no text that stands apart has none.
   */
  #checkTexts({ characters, texts }: { readonly characters: number; readonly texts: number }, tokensMax: number): void {
    const { contextTokens } = this.#backend.facts;
    if (characters <= contextTokens * usualTokenCharacters && texts <= contextTokens) return;
    this.#longestTokenBytes ??= longestToken(this.#backend);
    const promptTokensMin = Math.max(texts, Math.ceil(characters / this.#longestTokenBytes));
    if (promptTokensMin + tokensMax > contextTokens) this.#refuseLength(promptTokensMin, tokensMax, 'at least ');
  }

  /** Models that were trained with a begin token need it; an empty prompt has nothing else to start from. */
  #encodePrompt(text: string): Int32Array {
    const { facts } = this.#backend;
    const tokens = this.#backend.tokenize(text, { parseSpecial: false });
    return facts.addsBeginToken || tokens.length === 0 ? Int32Array.from([facts.beginToken, ...tokens]) : tokens;
  }

  #checkLength(promptTokens: number, tokensMax: number): void {
    const contextTokensMax = this.#backend.facts.contextTokens;
    assert(promptTokens > 0, 'a rendered chat has tokens');
    if (promptTokens + tokensMax > contextTokensMax) this.#refuseLength(promptTokens, tokensMax, '');
  }

  #refuseLength(promptTokens: number, tokensMax: number, qualifier: string): never {
    const contextTokensMax = this.#backend.facts.contextTokens;
    throw platformError(
      'CONTEXT_LENGTH_EXCEEDED',
      `the prompt has ${qualifier}${promptTokens} tokens and ${tokensMax} more are asked for, the context holds ${contextTokensMax}`,
      { data: { promptTokens, tokensMax, contextTokensMax } },
    );
  }
}
