import fc from 'fast-check';
import { expect, it } from 'vitest';
import { prefixEnvelope } from './prefixEnvelope.js';

const header = fc.record({
  digest: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map((digest) => digest.toString(16).padStart(16, '0')),
  facts: fc.dictionary(fc.string({ minLength: 1, maxLength: 20 }), fc.string({ maxLength: 40 }), { maxKeys: 12, noNullPrototype: true }),
  tokens: fc.int32Array({ maxLength: 40 }),
  stateBytes: fc.nat({ max: 2 ** 31 }),
});
const piece = fc.record({ offset: fc.nat({ max: 2 ** 31 }), bytes: fc.uint8Array({ maxLength: 60 }) });

it('gives back what it was given', () => {
  fc.assert(
    fc.property(header, piece, (one, other) => {
      expect(prefixEnvelope.decodeHeader(prefixEnvelope.encodeHeader(one))).toEqual(one);
      expect(prefixEnvelope.decodePiece(prefixEnvelope.encodePiece(other))).toEqual(other);
    }),
  );
});

it('refuses every frame with a byte changed, cut off or added, and one kind for the other', () => {
  fc.assert(
    fc.property(header, piece, fc.integer({ min: 1, max: 255 }), (one, other, change) => {
      for (const [frame, decode] of [
        [prefixEnvelope.encodeHeader(one), prefixEnvelope.decodeHeader],
        [prefixEnvelope.encodePiece(other), prefixEnvelope.decodePiece],
      ] as const) {
        for (let place = 0; place < frame.length; place++) {
          const changed = frame.slice();
          changed[place] = (changed[place] as number) ^ change;
          expect(decode(changed)).toBeUndefined();
          expect(decode(frame.subarray(0, place))).toBeUndefined();
        }
        expect(decode(new Uint8Array([...frame, change]))).toBeUndefined();
      }
      expect(prefixEnvelope.decodePiece(prefixEnvelope.encodeHeader(one))).toBeUndefined();
      expect(prefixEnvelope.decodeHeader(prefixEnvelope.encodePiece(other))).toBeUndefined();
    }),
    { numRuns: 40 },
  );
});

it('never throws on bytes of any kind', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      expect(prefixEnvelope.decodeHeader(bytes)).toBeUndefined();
      expect(prefixEnvelope.decodePiece(bytes)).toBeUndefined();
    }),
  );
});
