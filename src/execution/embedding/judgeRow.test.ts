import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../../base/index.js';
import type { StoredDocument } from '../../storage/index.js';
import { judgeRow, noteOf, vectorPlace } from './judgeRow.js';

const place = vectorPlace('v');
const recipe = { model: 'm'.repeat(64), dimensions: 2, normalize: true };
const row = (attributes: { readonly [name: string]: JsonValue }): StoredDocument =>
  ({ _key: 'k', _id: 'c/k', _rev: '_', ...attributes }) as unknown as StoredDocument;
const judged = (document: StoredDocument, value: JsonValue, own = recipe) => judgeRow(document, value, { place, recipe: own });
const digestOf = (text: string): string => {
  const verdict = judged(row({}), text);
  return verdict.kind === 'stale' ? verdict.digest : '';
};
const embedded = (text: string) => row({ v: [1, 0], v_of: noteOf(digestOf(text), recipe) });

describe('judgeRow (R28)', () => {
  it('takes a vector for current only where text, model, dimensions and normalisation are what it was made of', () => {
    expect(judged(embedded('a'), 'a')).toEqual({ kind: 'current' });
    expect(judged(embedded('a'), 'b')).toMatchObject({ kind: 'stale', text: 'b' });
    for (const other of [{ model: 'n' }, { dimensions: 3 }, { normalize: false }])
      expect(judged(embedded('a'), 'a', { ...recipe, ...other }).kind).toBe('stale');
    expect(judged(row({ v: [1, 0] }), 'a').kind).toBe('stale');
    expect(judged(row({ v: null, v_of: noteOf(digestOf('a'), recipe) }), 'a').kind).toBe('stale');
    expect(judged(row({ v: [1], v_of: noteOf(digestOf('a'), recipe) }), 'a').kind).toBe('stale');
  });

  it('tells a row that lost its text from one that never had one, and reads what is no string as its JSON text', () => {
    expect(judged(embedded('a'), null).kind).toBe('surplus');
    expect(judged(row({ v: [1, 0] }), null).kind).toBe('empty'); // a vector that no statement made stays
    expect(judged(row({}), ['a']).kind).toBe('unfit');
    expect(judged(row({}), { a: 1 })).toMatchObject({ kind: 'stale', text: '{"a":1}' });
  });

  it('never takes two texts for one', () =>
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), (left, right) => {
        fc.pre(left !== right);
        expect(digestOf(left)).not.toBe(digestOf(right));
      }),
    ));
});
