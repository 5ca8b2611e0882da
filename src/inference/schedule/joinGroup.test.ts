import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chooseSequence, type SequenceHolders } from './chooseSequence.js';
import { joinGroup } from './joinGroup.js';

/** `.` is free, `b` the base model's, other letters are adapters. */
const holders = (text: string): SequenceHolders => [...text].map((one) => (one === '.' ? undefined : one === 'b' ? null : one));
const groupOf = (letter: string): string | null => (letter === 'b' ? null : letter);

/** Passes of a decode step of each group: one for each run of its ids. */
const passes = (sequences: SequenceHolders): number =>
  sequences.filter((holder, id) => holder !== undefined && sequences[id - 1] !== holder).length;

describe('ids of a group are kept together', () => {
  it.each([
    ['....', 'b', 0],
    ['b...', 'b', 1],
    ['b...', 'x', 3],
    ['bb.x', 'x', 2],
    ['b..x', 'b', 1],
    ['.b.x', 'b', 0],
    ['b......x', 'y', 3],
    ['bx', 'b', -1],
    ['bxb.', 'x', 3],
  ])('in %s a request of %s takes %d', (text, letter, expected) => expect(chooseSequence(holders(text), groupOf(letter))).toBe(expected));

  it.each([
    ['bb.b', { from: 3, to: 2 }],
    ['b.bb', { from: 0, to: 1 }],
    ['bb..x', undefined],
    ['.bb', undefined],
    ['bxb.', undefined],
    ['bxbx..b', undefined],
  ])('in %s the move is %j', (text, expected) => {
    expect(joinGroup(holders(text))).toEqual(expected);
  });

  it('gives requests of two groups that come in any order one pass each, while both fit', () =>
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 8 }), (isBase) => {
        const sequences: (string | null | undefined)[] = new Array(8).fill(undefined);
        for (const base of isBase) sequences[chooseSequence(sequences, base ? null : 'x')] = base ? null : 'x';
        expect(passes(sequences)).toBeLessThanOrEqual(2);
        expect(sequences.filter((holder) => holder !== undefined)).toHaveLength(isBase.length);
      }),
    ));

  it('joins step by step with moves into free ids, each of which makes no more passes, and comes to an end', () =>
    fc.assert(
      fc.property(fc.array(fc.constantFrom(undefined, null, 'x', 'y'), { minLength: 1, maxLength: 16 }), (start) => {
        const sequences: (string | null | undefined)[] = [...start];
        let moves = 0;
        for (let move = joinGroup(sequences); move !== undefined; move = joinGroup(sequences)) {
          const before = passes(sequences);
          expect([sequences[move.to], sequences[move.from] === undefined]).toEqual([undefined, false]);
          sequences[move.to] = sequences[move.from];
          sequences[move.from] = undefined;
          expect(passes(sequences)).toBeLessThanOrEqual(before);
          expect(++moves).toBeLessThanOrEqual(16 * 16);
        }
        expect(sequences.filter((holder) => holder !== undefined).sort()).toEqual(start.filter((holder) => holder !== undefined).sort());
      }),
      { numRuns: 500 },
    ));
});
