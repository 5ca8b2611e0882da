import type { JsonValue } from '../base/index.js';
import type { HttpRequest } from '../platform/index.js';
import { gatewayError } from './errors.js';

const strictUtf8 = new TextDecoder('utf-8', { fatal: true });
const numbers = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

// No type at all is taken, as ArangoDB does. A text or a form is not: a page of any origin may send those without being asked first.
const jsonType = /^\s*(application|text)\/([\w.-]+\+)?json\s*(;|$)/i;

/** The JSON of a request. Whole numbers beyond 2^53 and those beyond the largest are refused: JavaScript would change them
 * silently. Names like `__proto__` stay data. */
export function parseJsonBody(request: Pick<HttpRequest, 'body' | 'headers'>): JsonValue {
  checkHeaders(request.headers);
  const text = decodeText(request.body);
  const value = parse(text);
  checkDepth(text);
  checkNumbers(text);
  return value;
}

const checkHeaders = (headers: HttpRequest['headers']): void => {
  const { 'content-type': type = '', 'content-encoding': encoding = '' } = headers;
  if (type !== '' && !jsonType.test(type))
    throw gatewayError('CONTENT_TYPE_WRONG', `content type ${type.slice(0, 80)} is not JSON: send content-type: application/json`);
  if (!/^\s*(identity\s*)?$/i.test(encoding))
    throw gatewayError('CONTENT_ENCODING_UNKNOWN', `content encoding ${encoding.slice(0, 80)} is not taken: send the body as it is`);
};

const decodeText = (body: Uint8Array): string => {
  try {
    return strictUtf8.decode(body);
  } catch (error) {
    throw gatewayError('BODY_NOT_JSON', 'the body is not valid UTF-8', { cause: error });
  }
};

/** Deeper values overflow the stack of whatever walks them later; ArangoDB's own limit is about as deep. */
const depthMax = 200;

const checkDepth = (text: string): void => {
  let depth = 0;
  let isText = false;
  for (let i = 0; i < text.length; i++) {
    const character = text.charCodeAt(i);
    if (isText) {
      if (character === 0x5c) i++;
      else if (character === 0x22) isText = false;
    } else if (character === 0x22) isText = true;
    else if (character === 0x5b || character === 0x7b) depth++;
    else if (character === 0x5d || character === 0x7d) depth--;
    if (depth > depthMax) throw gatewayError('BODY_NOT_JSON', `the body is nested deeper than ${depthMax} levels`);
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

// Only texts that are JSON come here: every string has its end.
const checkNumbers = (text: string): void => {
  if (!/\d{16}|[eE]\+?\d{3}/.test(text)) return;
  for (const piece of outsideStrings(text)) {
    for (const [token] of piece.matchAll(numbers)) {
      const value = Number(token);
      if (Number.isSafeInteger(value) || (/[.eE]/.test(token) && Number.isFinite(value))) continue;
      throw gatewayError('NUMBER_OUT_OF_RANGE', `the number ${token.slice(0, 40)} lies beyond 2^53; send it as a string`);
    }
  }
};

function* outsideStrings(text: string): Generator<string, void, void> {
  let at = 0;
  for (let quote = text.indexOf('"'); quote !== -1; quote = text.indexOf('"', at)) {
    yield text.slice(at, quote);
    at = afterString(text, quote + 1);
  }
  yield text.slice(at);
}

// A quote ends its string unless an odd number of backslashes stands before it.
const afterString = (text: string, start: number): number => {
  for (let quote = text.indexOf('"', start); quote !== -1; quote = text.indexOf('"', quote + 1)) {
    let backslash = quote - 1;
    while (backslash >= start && text[backslash] === '\\') backslash--;
    if ((quote - backslash) % 2 === 1) return quote + 1;
  }
  return text.length;
};
