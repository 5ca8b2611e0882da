import { base64Digits } from './base64Digits.js';

const valueOfDigit = new Map([...base64Digits].map((digit, value) => [digit, value]));

/** Bytes of base64 (RFC 4648 §4, padded); undefined for a text of another form. */
export function fromBase64(text: string): Uint8Array | undefined {
  const digits = text.replace(/={1,2}$/, '');
  if (text.length % 4 !== 0 || digits.length % 4 === 1) return undefined;
  const bytes = new Uint8Array(Math.floor((digits.length * 3) / 4));
  let [word, bits, place] = [0, 0, 0];
  for (const digit of digits) {
    const value = valueOfDigit.get(digit);
    if (value === undefined) return undefined;
    word = ((word << 6) | value) & 0xfff;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes[place++] = (word >> bits) & 255;
  }
  return bytes;
}
