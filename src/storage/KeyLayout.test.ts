import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareBytes } from '../base/index.js';
import { checkDocumentKey } from './checkDocumentKey.js';
import { keyLayout, versionCodec } from './KeyLayout.js';
import type { Timestamp } from './Timestamp.js';

const characters = [..."ABCXYZabcxyz0189_-:.@()+,=;$!*'%"];
const documentKey = fc.string({ unit: fc.constantFrom(...characters), minLength: 1, maxLength: 12 });
const collection = fc.oneof(fc.nat(300), fc.constantFrom(0, 255, 256, 65_536, 2 ** 32 - 2));
const timestamp = fc.maxSafeInteger().map((value) => Math.abs(value) as Timestamp);
const sign = (left: string | number, right: string | number): number => (left === right ? 0 : left < right ? -1 : 1);

describe('keyLayout', () => {
  it('orders current rows as (collection, key), and history rows newest first within their key', () => {
    fc.assert(
      fc.property(collection, collection, documentKey, documentKey, timestamp, timestamp, (c1, c2, k1, k2, t1, t2) => {
        const order = sign(c1, c2) || sign(k1, k2);
        expect(Math.sign(compareBytes(keyLayout.current(c1, k1), keyLayout.current(c2, k2)))).toBe(order);
        expect(Math.sign(compareBytes(keyLayout.history(c1, k1, t1), keyLayout.history(c2, k2, t2)))).toBe(order || -sign(t1, t2));
      }),
    );
  });

  it('gives back collection, key and timestamp', () => {
    fc.assert(
      fc.property(collection, documentKey, timestamp, (id, key, at) => {
        const [current, history] = [keyLayout.current(id, key), keyLayout.history(id, key, at)];
        expect([keyLayout.collectionOf(current), keyLayout.keyOfCurrent(current)]).toEqual([id, key]);
        expect([keyLayout.collectionOf(history), keyLayout.keyOfHistory(history), keyLayout.timestampOfHistory(history)]).toEqual([
          id,
          key,
          at,
        ]);
      }),
    );
  });

  it('ranges hold exactly their own rows', () => {
    fc.assert(
      fc.property(collection, documentKey, documentKey, timestamp, (id, key, other, at) => {
        const inside = (row: Uint8Array, { from, to }: { from: Uint8Array; to: Uint8Array }) =>
          compareBytes(row, from) >= 0 && compareBytes(row, to) < 0;
        const range = { from: keyLayout.currentStart(id), to: keyLayout.currentEnd(id) };
        expect(inside(keyLayout.current(id, key), range)).toBe(true);
        expect(inside(keyLayout.current(id + 1, key), range)).toBe(false);
        expect(compareBytes(keyLayout.current(id, key), keyLayout.currentAfter(id, key))).toBe(-1);
        if (other > key) expect(compareBytes(keyLayout.currentAfter(id, key), keyLayout.current(id, other))).toBeLessThan(0);
        const ofKey = { from: keyLayout.history(id, key, (2 ** 53 - 1) as Timestamp), to: keyLayout.historyEnd(id, key) };
        expect(inside(keyLayout.history(id, other, at), ofKey)).toBe(other === key);
      }),
    );
  });

  it('versions of documents round trip, removed ones as such', () => {
    fc.assert(
      fc.property(timestamp, fc.option(fc.uint8Array(), { nil: undefined }), (at, document) => {
        expect(versionCodec.decodeCurrent(versionCodec.encodeCurrent({ timestamp: at, document }))).toEqual({ timestamp: at, document });
        expect(versionCodec.decodeHistory(versionCodec.encodeHistory(document))).toEqual(document);
      }),
    );
  });
});

describe('checkDocumentKey', () => {
  it('takes 1 to 254 of the characters of keys', () => {
    fc.assert(fc.property(documentKey, (key) => checkDocumentKey(key) === key));
    expect(checkDocumentKey('x'.repeat(254))).toHaveLength(254);
  });

  it.each(['', 'x'.repeat(255), 'a/b', 'ä', 'a b', 'a\0', 'a\n', 'a"', undefined, null, 1, {}, []])('refuses %j', (key) => {
    expect(() => checkDocumentKey(key)).toThrow(expect.objectContaining({ code: 'DOCUMENT_KEY_BAD', httpStatus: 400 }));
  });
});
