import { type OstrakaError, toAbortError } from '../../base/index.js';
import { platformError } from '../index.js';
import { toRemoteError } from './toRemoteError.js';

export interface OpenAiClientOptions {
  /** `http://host:port`, without `/v1`. */
  readonly url: string;
  readonly apiKey: string | undefined;
  /** Hears when the server cannot be reached. */
  readonly onLost: (reason: string) => void;
}

const answerBytesMax = 64 << 20;

/** Requests to an OpenAI-compatible server. Errors: ENGINE_LOST (it cannot be reached, or the connection ended), CANCELLED, and those of toRemoteError. */
export class OpenAiClient {
  readonly #options: OpenAiClientOptions;

  constructor(options: OpenAiClientOptions) {
    this.#options = options;
  }

  async json(path: string, body: object | undefined, signal: AbortSignal): Promise<unknown> {
    const response = await this.open(path, body, signal);
    return this.guard(signal, async () => {
      const text = await response.text();
      if (text.length > answerBytesMax) throw platformError('ENGINE_STEP_FAILED', 'the answer of the model server is too large');
      return JSON.parse(text) as unknown;
    });
  }

  /** The head of the answer is there, and a success. */
  async open(path: string, body: object | undefined, signal: AbortSignal): Promise<Response> {
    const { url, apiKey } = this.#options;
    const headers = { 'content-type': 'application/json', ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }) };
    const init = {
      method: body === undefined ? 'GET' : 'POST',
      headers,
      signal,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    };
    const response = await this.guard(signal, () => fetch(`${url}${path}`, init));
    if (response.ok) return response;
    const text = await this.guard(signal, () => response.text());
    throw toRemoteError({ status: response.status, body: parse(text), retryAfter: response.headers.get('retry-after') });
  }

  /** Errors of the connection become those of a ModelService. */
  async guard<Value>(signal: AbortSignal, work: () => Promise<Value>): Promise<Value> {
    try {
      return await work();
    } catch (error) {
      throw this.toError(error, signal);
    }
  }

  toError(error: unknown, signal: AbortSignal): OstrakaError {
    if (signal.aborted) return toAbortError(signal);
    if (error instanceof SyntaxError)
      return platformError('ENGINE_STEP_FAILED', 'the answer of the model server is no JSON', { cause: error });
    const { cause, message } = error as Error & { readonly cause?: { readonly code?: string } };
    const reason = `the model server at ${this.#options.url} cannot be reached (${cause?.code ?? message})`;
    this.#options.onLost(reason);
    return platformError('ENGINE_LOST', reason, { cause: error, data: { reason } });
  }
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return { error: text };
  }
};
