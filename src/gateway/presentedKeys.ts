import { utf8 } from '../base/index.js';
import type { HttpRequest } from '../platform/index.js';

const decodeBase64 = (text: string): string => {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  let bits = 0;
  let length = 0;
  const decoded: number[] = [];
  for (const character of text.replace(/=+$/, '')) {
    bits = (bits << 6) | Math.max(0, alphabet.indexOf(character));
    length += 6;
    if (length < 8) continue;
    length -= 8;
    decoded.push((bits >> length) & 255);
    bits &= (1 << length) - 1;
  }
  return utf8.decode(Uint8Array.from(decoded));
};

const keyOf = (header: string): string => {
  const [scheme = '', value = ''] = header.split(' ', 2);
  if (scheme.toLowerCase() === 'bearer') return value;
  if (scheme.toLowerCase() !== 'basic') return '';
  const pair = decodeBase64(value);
  return pair.slice(pair.indexOf(':') + 1);
};

/** The keys that a request shows: in `x-api-key`, as bearer token or as basic password. */
export function presentedKeys({ headers }: Pick<HttpRequest, 'headers'>): readonly string[] {
  return [headers['x-api-key'] ?? '', keyOf(headers['authorization'] ?? '')].filter((key) => key !== '');
}
