import { sha256Hex, utf8 } from '../base/index.js';
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

const presentedKey = (header: string): string => {
  const [scheme = '', value = ''] = header.split(' ', 2);
  if (scheme.toLowerCase() === 'bearer') return value;
  if (scheme.toLowerCase() !== 'basic') return '';
  const pair = decodeBase64(value);
  return pair.slice(pair.indexOf(':') + 1);
};

/**
 * Whether a request may pass: no key configured (loopback only), the liveness probe, or the key as bearer token, as basic password or in
 * `x-api-key`.
 */
export function isAuthorized(request: Pick<HttpRequest, 'headers'>, apiKey: string | undefined, pattern: string): boolean {
  if (apiKey === undefined || pattern === '/health/live') return true;
  // Digests of equal length are compared: the time says nothing of the key.
  const { authorization = '', 'x-api-key': ownHeader = '' } = request.headers;
  return [ownHeader, presentedKey(authorization)].some((key) => sha256Hex(key) === sha256Hex(apiKey));
}
