import type { OstrakaError } from '../base/index.js';
import type { HttpResponse } from '../platform/index.js';

const jsonHeaders = { 'content-type': 'application/json; charset=utf-8' };

/** Waiting clients are told when to come back, and those with a wrong method which are right. */
const errorHeaders = ({ httpStatus, data }: OstrakaError): { readonly [name: string]: string } => {
  const { retryAfterSeconds, allow } = data as { readonly retryAfterSeconds?: number; readonly allow?: string };
  if (httpStatus === 429 || httpStatus === 503) return { 'retry-after': String(retryAfterSeconds ?? 1) };
  return httpStatus === 405 && allow !== undefined ? { allow } : {};
};

const openAiType = (status: number): string => {
  if (status === 401) return 'authentication_error';
  if (status === 429) return 'rate_limit_error';
  // A cancellation that its client lives to read was not its own.
  return status < 500 && status !== 499 ? 'invalid_request_error' : 'server_error';
};

const anthropicTypes: { readonly [status: number]: string } = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  504: 'timeout_error',
};

/** Answers in the shapes of ArangoDB, of OpenAI and of Anthropic. */
export const responses = {
  json: (status: number, body: unknown, headers: { readonly [name: string]: string } = {}): HttpResponse => ({
    status,
    headers: { ...jsonHeaders, ...headers },
    body: JSON.stringify(body),
  }),

  /** ArangoDB's answer: `error` and `code` beside the fields. */
  arango: (status: number, fields: object, headers: { readonly [name: string]: string } = {}): HttpResponse =>
    responses.json(status, { ...fields, error: false, code: status }, headers),

  arangoError: (error: OstrakaError): HttpResponse =>
    responses.json(error.httpStatus, { ...error.data, ...responses.arangoErrorFields(error), code: error.httpStatus }, errorHeaders(error)),

  arangoErrorFields: (error: Pick<OstrakaError, 'errorNum' | 'httpStatus' | 'message' | 'code'>) => ({
    error: true,
    errorNum: error.errorNum || error.httpStatus,
    errorMessage: error.message,
    ostrakaCode: error.code,
  }),

  openAiErrorFields: (error: OstrakaError, code = error.code.toLowerCase()) => ({
    message: error.message,
    type: openAiType(error.httpStatus),
    param: typeof error.data['param'] === 'string' ? error.data['param'] : null,
    code,
  }),

  openAiError: (error: OstrakaError, requestId: string): HttpResponse =>
    responses.json(
      error.httpStatus,
      { error: { ...responses.openAiErrorFields(error), ...numbersOf(error), request_id: requestId } },
      errorHeaders(error),
    ),

  /** `param` and `code` are ours: a program can tell more by them than by the type. */
  anthropicErrorBody: (error: OstrakaError, requestId: string) => {
    const { message, param, code } = responses.openAiErrorFields(error);
    const type = anthropicTypes[error.httpStatus] ?? (error.httpStatus < 499 ? 'invalid_request_error' : 'api_error');
    return { type: 'error' as const, error: { type, message, param, code, ...numbersOf(error) }, request_id: requestId };
  },

  anthropicError: (error: OstrakaError, requestId: string): HttpResponse =>
    responses.json(error.httpStatus, responses.anthropicErrorBody(error, requestId), errorHeaders(error)),

  /** An answer without a body, for HEAD. */
  empty: (status: number, headers: { readonly [name: string]: string } = {}): HttpResponse => ({ status, headers, body: '' }),
};

/** Figures that a program needs to react, such as the token counts of context_length_exceeded. */
const numbersOf = (error: OstrakaError): object =>
  Object.fromEntries(Object.entries(error.data).filter(([, value]) => typeof value === 'number'));
