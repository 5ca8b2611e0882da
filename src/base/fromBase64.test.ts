import fc from 'fast-check';
import { expect, it } from 'vitest';
import { fromBase64 } from './fromBase64.js';
import { toBase64 } from './toBase64.js';

it('gives back the bytes that toBase64 was given, and nothing for what is no base64', () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => void expect(fromBase64(toBase64(bytes))).toEqual(bytes)));
  for (const text of ['a', 'ab=', 'abc', 'ab*=', '====', 'a===']) expect(fromBase64(text)).toBeUndefined();
});
