import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../base/index.js';
import { documentCodec } from './documentCodec.js';
import { mergeDocuments } from './mergeDocuments.js';

type JsonObject = { readonly [name: string]: JsonValue };
const parse = (text: string): JsonObject => JSON.parse(text) as JsonObject;
const names = fc.constantFrom('a', 'b', '__proto__', 'constructor', 'toString');
const { tree } = fc.letrec<{ tree: [string, JsonValue][] }>((tie) => ({
  tree: fc.uniqueArray(
    fc.tuple(names, fc.oneof({ depthSize: 'small' }, fc.constantFrom<JsonValue>(null, 1, 'x', [1]), tie('tree').map(toObject))),
    { selector: ([name]) => name, maxLength: 4 },
  ),
}));
function toObject(entries: readonly (readonly [string, JsonValue])[]): JsonObject {
  return Object.fromEntries(entries);
}
const objects = tree.map(toObject);

describe('mergeDocuments', () => {
  it('merges, replaces and removes as ArangoDB does', () => {
    const [base, patch] = [parse('{"a":1,"b":{"c":1,"d":2},"e":[1]}'), parse('{"a":null,"b":{"c":null,"x":3},"e":[2],"f":{"g":null}}')];
    expect(mergeDocuments(base, patch, { keepNull: true, mergeObjects: true })).toEqual(
      parse('{"a":null,"b":{"c":null,"d":2,"x":3},"e":[2],"f":{"g":null}}'),
    );
    expect(mergeDocuments(base, patch, { keepNull: false, mergeObjects: true })).toEqual(parse('{"b":{"d":2,"x":3},"e":[2],"f":{}}'));
    expect(mergeDocuments(base, patch, { keepNull: true, mergeObjects: false })).toMatchObject(parse('{"b":{"c":null,"x":3}}'));
  });

  it('every name is data: a merge over itself changes nothing, whatever the names, and prototypes stay as they are', () => {
    const untouched = Object.getOwnPropertyNames(Object.prototype);
    fc.assert(
      fc.property(objects, objects, (base, patch) => {
        const merge = { keepNull: true, mergeObjects: true };
        expect(JSON.stringify(mergeDocuments(base, base, merge))).toBe(JSON.stringify(base));
        const merged = mergeDocuments(base, patch, merge);
        expect(new Set(Object.keys(merged))).toEqual(new Set([...Object.keys(base), ...Object.keys(patch)]));
        expect(Object.getPrototypeOf(merged)).toBe(Object.prototype);
      }),
    );
    expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(untouched);
  });
});

describe('documentCodec', () => {
  const collection = { database: 'd', name: 'books', id: 1, kind: 'document' } as const;

  it('keeps every attribute through bytes, adds _id from the collection and stores none', () => {
    fc.assert(
      fc.property(objects, (attributes) => {
        const document = toObject([['_key', 'k'], ['_rev', '_1'], ['_id', 'lies/x'], ...Object.entries(attributes)]);
        const read = documentCodec.decode(collection, documentCodec.encode(document, 1e6));
        const expected = toObject([['_key', 'k'], ['_id', 'books/k'], ['_rev', '_1'], ...Object.entries(attributes)]);
        expect(JSON.stringify(read)).toBe(JSON.stringify(expected));
      }),
    );
  });

  it('counts the limit in bytes of UTF-8', () => {
    const document = { _key: 'k', text: 'ä'.repeat(10) };
    const bytes = documentCodec.encode(document, 1e6).length;
    expect(documentCodec.encode(document, bytes)).toHaveLength(bytes);
    expect(() => documentCodec.encode(document, bytes - 1)).toThrow(
      expect.objectContaining({ code: 'DOCUMENT_TOO_LARGE', data: { bytes, bytesMax: bytes - 1 } }),
    );
  });
});
