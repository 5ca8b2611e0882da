import { assert } from '../base/index.js';
import { type ChatMessage, type GenerateRequest, platformError, type StepBackend } from '../platform/index.js';
import { ChatTemplate } from './ChatTemplate.js';

/** A text of fewer characters a token of context is tokenised without more ado. */
const usualTokenCharacters = 32;

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
  constructor(backend: StepBackend) {
    this.#backend = backend;
    this.#template = new ChatTemplate(backend);
  }

  /** The prompt of a request that fits into the context with the tokens it asks for. */
  encode(request: GenerateRequest): Int32Array {
    this.#checkCharacters(request);
    const prompt =
      request.prompt === undefined ? this.#template.encode(request.messages, request.tools?.tools) : this.#encodePrompt(request.prompt);
    this.#checkLength(prompt.length, request.sampling.tokensMax);
    return prompt;
  }

  /**
   * A text far too long is refused before it is tokenised, which takes a second for 3 MB and holds everyone up: no token is longer than
   * the longest, so that the text has at least so many.
   */
  #checkCharacters({ prompt = '', messages, tools, sampling }: GenerateRequest): void {
    const { facts } = this.#backend;
    const ofTools = tools === undefined ? 0 : JSON.stringify(tools.tools).length;
    const ofCalls = (calls: ChatMessage['toolCalls'] = []): number => calls.reduce((sum, call) => sum + call.arguments.length, 0);
    const characters = messages.reduce((sum, each) => sum + each.content.length + ofCalls(each.toolCalls), prompt.length + ofTools);
    if (characters <= facts.contextTokens * usualTokenCharacters) return;
    this.#longestTokenBytes ??= longestToken(this.#backend);
    const promptTokensMin = Math.ceil(characters / this.#longestTokenBytes);
    if (promptTokensMin + sampling.tokensMax > facts.contextTokens) this.#refuseLength(promptTokensMin, sampling.tokensMax, 'at least ');
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
