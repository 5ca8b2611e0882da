import { OstrakaError } from '../base/index.js';
import { cliError } from './errors.js';

const timeoutMs = 600_000;

/** Requests of the command line to a shard. Errors: SERVER_UNREACHABLE, and those of the server unchanged. */
export class HttpClient {
  readonly #url: string;

  constructor(options: { readonly url: string }) {
    if (!URL.canParse(options.url)) throw cliError('USAGE', `--url ${options.url} is not a URL`);
    this.#url = options.url.replace(/\/$/, '');
  }

  async request<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
    const response = await this.#fetch(method, path, body);
    const text = await response.text();
    const answer = parse(text);
    if (response.ok) return answer as Answer;
    throw toError(response.status, answer);
  }

  /** The bytes of an answer as they come; aborting ends both. */
  async stream(
    method: string,
    path: string,
    { body, signal }: { readonly body: unknown; readonly signal: AbortSignal },
  ): Promise<AsyncIterable<Uint8Array>> {
    const response = await this.#fetch(method, path, body, signal);
    if (!response.ok) throw toError(response.status, parse(await response.text()));
    return response.body as unknown as AsyncIterable<Uint8Array>;
  }

  async #fetch(method: string, path: string, body: unknown, signal?: AbortSignal): Promise<Response> {
    const limit = AbortSignal.timeout(timeoutMs);
    const init: RequestInit = { method, signal: signal === undefined ? limit : AbortSignal.any([limit, signal]) };
    if (body !== undefined) Object.assign(init, { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } });
    try {
      return await fetch(`${this.#url}${path}`, init);
    } catch (error) {
      throw cliError('SERVER_UNREACHABLE', `no shard answers at ${this.#url}: start one with \`ostraka up\`, or give --url`, {
        cause: error,
      });
    }
  }
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return { errorMessage: text.slice(0, 200) };
  }
};

interface ErrorAnswer {
  readonly ostrakaCode?: string;
  readonly errorNum?: number;
  readonly errorMessage?: string;
  readonly error?: { readonly message?: string; readonly code?: string } | boolean;
}

const toError = (httpStatus: number, answer: unknown): OstrakaError => {
  const fields = answer as ErrorAnswer;
  const openAi = typeof fields.error === 'object' ? fields.error : undefined;
  return new OstrakaError({
    code: fields.ostrakaCode ?? openAi?.code ?? 'HTTP_ERROR',
    message: fields.errorMessage ?? openAi?.message ?? `HTTP status ${httpStatus}`,
    httpStatus,
    errorNum: fields.errorNum ?? 0,
    retryable: httpStatus === 503 || httpStatus === 429,
    data: {},
  });
};
