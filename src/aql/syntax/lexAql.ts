import type { OstrakaError } from '../../base/index.js';
import { aqlError } from '../errors.js';
import { aqlLimits } from '../limits.js';
import { parseErrorAt } from './parseErrorAt.js';
import { reservedWords, type Token } from './Token.js';

const nameStart = /[A-Za-z_$]/;
const digit = /[0-9]/;
const namePattern = /[A-Za-z_$][A-Za-z0-9_$]*/y;
const bindNamePattern = /[A-Za-z0-9_]+/y;
const decimalPattern = /(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?/y;
const prefixedPattern = /0(?:[xX][0-9A-Fa-f]+|[bB][01]+)/y;
const operators = ['==', '!=', '<=', '>=', '&&', '||', '=~', '!~', '..', '::', ...'<>=!+-*/%?:,.()[]{}'];
const prefixedNumberMax = 2 ** 32 - 1;

const escapes: { readonly [character: string]: string } = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

/** The tokens of a query, the last of kind `end`. Comments and white space are dropped. Throws AQL_PARSE and AQL_TOO_LONG. */
export function lexAql(text: string): readonly Token[] {
  if (text.length > aqlLimits.queryCharactersMax)
    throw aqlError(
      'AQL_TOO_LONG',
      `the query has ${text.length} characters, at most ${aqlLimits.queryCharactersMax} are read; pass data as bind parameters`,
    );
  const tokens: Token[] = [];
  let offset = skipBlank(text, 0);
  while (offset < text.length) {
    const token = lexToken(text, offset);
    tokens.push(token);
    offset = skipBlank(text, token.end);
  }
  tokens.push({ kind: 'end', text: '', value: '', word: '', start: text.length, end: text.length });
  return tokens;
}

function lexToken(text: string, start: number): Token {
  const character = text[start] as string;
  if (nameStart.test(character)) return lexName(text, start);
  if (digit.test(character) || (character === '.' && digit.test(text[start + 1] ?? ''))) return lexNumber(text, start);
  if (character === '"' || character === "'") return lexString(text, start, character);
  if (character === '`' || character === '´') return { ...lexString(text, start, character), kind: 'name' };
  if (character === '@') return lexBind(text, start);
  const operator = operators.find((candidate) => text.startsWith(candidate, start));
  if (operator !== undefined) return tokenOf('operator', text, start, start + operator.length);
  throw unexpectedCharacter(text, start);
}

function unexpectedCharacter(text: string, start: number): OstrakaError {
  const place = { text, at: start };
  if (text[start] === ';') return parseErrorAt(place, "unexpected ';'", { hint: 'AQL has no semicolon; send one query at a time' });
  return parseErrorAt(place, `unexpected character '${String.fromCodePoint(text.codePointAt(start) as number)}'`);
}

function skipBlank(text: string, start: number): number {
  let offset = start;
  while (offset < text.length) {
    const character = text[offset] as string;
    if (/\s/.test(character)) offset++;
    else if (text.startsWith('//', offset)) offset = endOfLine(text, offset);
    else if (text.startsWith('/*', offset)) offset = endOfComment(text, offset);
    else break;
  }
  return offset;
}

const endOfLine = (text: string, start: number): number => {
  const end = text.indexOf('\n', start);
  return end < 0 ? text.length : end;
};

const endOfComment = (text: string, start: number): number => {
  const end = text.indexOf('*/', start + 2);
  if (end < 0) throw parseErrorAt({ text, at: start }, 'unterminated comment', { expected: ["'*/'"] });
  return end + 2;
};

const tokenOf = (kind: Token['kind'], text: string, start: number, end: number, value?: string | number): Token => {
  const written = text.slice(start, end);
  const named = kind === 'name' || kind === 'keyword';
  return { kind, text: written, value: value ?? written, word: named ? written.toUpperCase() : '', start, end };
};

const matchAt = (pattern: RegExp, text: string, start: number): string | undefined => {
  pattern.lastIndex = start;
  return pattern.exec(text)?.[0];
};

function lexName(text: string, start: number): Token {
  const name = matchAt(namePattern, text, start) as string;
  const kind = reservedWords.has(name.toUpperCase()) ? 'keyword' : 'name';
  return tokenOf(kind, text, start, start + name.length);
}

function lexNumber(text: string, start: number): Token {
  const place = { text, at: start };
  const prefixed = matchAt(prefixedPattern, text, start);
  const written = prefixed ?? (matchAt(decimalPattern, text, start) as string);
  const end = start + written.length;
  if (!prefixed && /^0[0-9]/.test(written))
    throw parseErrorAt(place, 'a number does not begin with 0', { expected: ["'0' alone", 'a number without leading zeros'] });
  if (text[end] === '.' && text[end + 1] !== '.')
    throw parseErrorAt({ text, at: end }, "unexpected '.' after a number", { expected: ['digits after the point'] });
  if (nameStart.test(text[end] ?? ''))
    throw parseErrorAt({ text, at: end }, 'unexpected name directly after a number', { expected: ['an operator'] });
  const value = Number(written);
  if (!Number.isFinite(value) || (prefixed && value > prefixedNumberMax)) throw parseErrorAt(place, 'number out of range');
  // Rounding it silently would store another number than was written.
  if (/^\d+$/.test(text.slice(start, end)) && !Number.isSafeInteger(value)) {
    throw parseErrorAt(place, 'whole number beyond 2^53', { expected: ['a smaller number', 'the number as a string'] });
  }
  return tokenOf('number', text, start, end, value);
}

/** Strings and quoted names: the same escapes, the position of an unterminated one is its opening quote. */
function lexString(text: string, start: number, quote: string): Token {
  let value = '';
  let offset = start + 1;
  while (text[offset] !== quote) {
    if (offset >= text.length)
      throw parseErrorAt({ text, at: start }, quote === '`' || quote === '´' ? 'unterminated name' : 'unterminated string', {
        expected: [`closing ${quote}`],
      });
    if (text[offset] !== '\\') {
      value += text[offset];
      offset++;
      continue;
    }
    const escaped = readEscape(text, offset);
    value += escaped.value;
    offset = escaped.end;
  }
  return { kind: 'string', text: text.slice(start, offset + 1), value, word: '', start, end: offset + 1 };
}

const readEscape = (text: string, start: number): { readonly value: string; readonly end: number } => {
  const character = text[start + 1] ?? '';
  if (character !== 'u') return { value: escapes[character] ?? character, end: start + 2 };
  const hex = text.slice(start + 2, start + 6);
  if (!/^[0-9A-Fa-f]{4}$/.test(hex))
    throw parseErrorAt({ text, at: start }, 'malformed escape', { expected: ['four hexadecimal digits after \\u'] });
  return { value: String.fromCharCode(Number.parseInt(hex, 16)), end: start + 6 };
};

function lexBind(text: string, start: number): Token {
  const collection = text[start + 1] === '@';
  const nameAt = start + (collection ? 2 : 1);
  const name = matchAt(bindNamePattern, text, nameAt);
  if (name === undefined) throw parseErrorAt({ text, at: start }, "unexpected '@'", { expected: ['the name of a bind parameter after @'] });
  return tokenOf(collection ? 'collectionBind' : 'bind', text, start, nameAt + name.length, name);
}
