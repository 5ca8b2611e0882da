import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { adapterNamed } from './adapterNamed.js';

const [a, b] = ['a'.repeat(64), `${'a'.repeat(12)}${'b'.repeat(52)}`];
const one = (domain: string, adapterDigest: string, scale: number) => ({ domain, adapterDigest, scale });
const announced = [one('law', a, 1), one('mild', a, 0.5), one('half', a, 0.5), one('trade', b, 1), one('x@2', b, 1)];
const found = (adapter: object) => ({ kind: 'found', adapter });
const ambiguous = (...choices: object[]) => ({ kind: 'ambiguous', choices });
const [law, mild, half, trade, odd] = announced as [object, object, object, object, object];

describe('the name of an adapter (R21)', () => {
  it.each([
    ['law', found({ domain: 'law' })],
    ['law@1', found({ domain: 'law', scale: 1 })],
    ['law@1.0', found({ domain: 'law', scale: 1 })],
    ['mild@0.5', found({ domain: 'mild', scale: 0.5 })],
    ['x@2', found({ domain: 'x@2' })],
    ['law@0.5', { kind: 'unknown' }],
    ['law@', { kind: 'unknown' }],
    ['nobody', { kind: 'unknown' }],
    [a, ambiguous(law, mild, half)],
    [`${a}@1`, found({ digest: a, scale: 1 })],
    [`${a}@0.5`, found({ digest: a, scale: 0.5 })],
    [`${a}@0.25`, { kind: 'unknown' }],
    [b, found({ digest: b, scale: 1 })],
    [b.slice(0, 13), found({ digest: b, scale: 1 })],
    [a.slice(0, 12), ambiguous(law, mild, half, trade, odd)],
    [`${a.slice(0, 12)}@1`, ambiguous(law, trade, odd)],
    [a.slice(0, 11), { kind: 'unknown' }],
    [a.toUpperCase(), { kind: 'unknown' }],
  ])('%s', (name, expected) => expect(adapterNamed(name, announced)).toEqual(expected));

  it('always takes a domain for itself, whatever it looks like', () =>
    fc.assert(
      fc.property(fc.oneof(fc.string({ minLength: 1 }), fc.constantFrom(a, `${a}@1`, 'law@1')), (domain) => {
        expect(adapterNamed(domain, [...announced, one(domain, b, 1)])).toEqual(found({ domain }));
      }),
    ));
});
