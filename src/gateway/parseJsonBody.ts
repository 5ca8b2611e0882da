import type { JsonValue } from '../base/index.js';
import type { HttpRequest } from '../platform/index.js';
import { gatewayError } from './errors.js';

const strictUtf8 = new TextDecoder('utf-8', { fatal: true });
// Outside strings, a run of 16 or more digits that is not part of a fraction or an exponent.
const tokens = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

// The third is what curl's -d sends when it is told nothing; ArangoDB takes it too.
const jsonTypes = /\bjson\b|^text\/plain|^application\/x-www-form-urlencoded/i;

/** The JSON of a request. Whole numbers beyond 2^53 are refused: JavaScript would change them silently. Names like `__proto__` stay data. */
export function parseJsonBody(request: Pick<HttpRequest, 'body' | 'headers'>): JsonValue {
  const contentType = request.headers['content-type'] ?? '';
  if (contentType !== '' && !jsonTypes.test(contentType)) {
    throw gatewayError('CONTENT_TYPE_WRONG', `content type ${contentType.slice(0, 80)} is not JSON`);
  }
  const text = decodeText(request.body);
  checkNumbers(text);
  return parse(text);
}

const decodeText = (body: Uint8Array): string => {
  try {
    return strictUtf8.decode(body);
  } catch (error) {
    throw gatewayError('BODY_NOT_JSON', 'the body is not valid UTF-8', { cause: error });
  }
};

const parse = (text: string): JsonValue => {
  try {
    return JSON.parse(text) as JsonValue;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw gatewayError('BODY_NOT_JSON', `expecting a JSON body: ${why.slice(0, 200)}`, { cause: error });
  }
};

const checkNumbers = (text: string): void => {
  if (!/\d{16}/.test(text)) return;
  for (const [token] of text.matchAll(tokens)) {
    if (token.startsWith('"') || /[.eE]/.test(token) || Number.isSafeInteger(Number(token))) continue;
    throw gatewayError('NUMBER_OUT_OF_RANGE', `the whole number ${token.slice(0, 40)} lies beyond 2^53; send it as a string`);
  }
};
