import { base64Digits } from './base64Digits.js';

/** Base64 (RFC 4648 §4, padded) of bytes. */
export function toBase64(bytes: Uint8Array): string {
  const parts: string[] = [];
  for (let i = 0; i < bytes.length; i += 3) {
    const [a = 0, b, c] = [bytes[i], bytes[i + 1], bytes[i + 2]];
    const word = (a << 16) | ((b ?? 0) << 8) | (c ?? 0);
    const digits = [18, 12, 6, 0].map((shift) => base64Digits[(word >> shift) & 63]);
    parts.push(`${digits[0]}${digits[1]}${b === undefined ? '=' : digits[2]}${c === undefined ? '=' : digits[3]}`);
  }
  return parts.join('');
}
