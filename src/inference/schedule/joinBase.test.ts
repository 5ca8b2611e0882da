import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chooseSequence, type SequenceHolders } from './chooseSequence.js';
import { joinBase } from './joinBase.js';

/** `.` is free, `b` the base model's, other letters are adapters. */
const holders = (text: string): SequenceHolders => [...text].map((one) => (one === '.' ? undefined : one === 'b' ? null : one));

/** Passes of a decode step of the base model: one for each run of its ids. */
const passes = (sequences: SequenceHolders): number =>
  sequences.filter((holder, id) => holder === null && sequences[id - 1] !== null).length;

describe('ids of the base model are kept together, and adapters out of their way', () => {
  it.each([
    ['....', 'b', 0],
    ['b...', 'b', 1],
    ['b...', 'x', 3],
    ['bb.x', 'x', 2],
    ['b..x', 'b', 1],
    ['.b.x', 'b', 0],
    ['b......x', 'y', 6],
    ['x...', 'b', 3],
    ['bx', 'b', -1],
    ['bxb.', 'x', 3],
  ])('in %s a request of %s takes %d', (text, letter, expected) =>
    expect(chooseSequence(holders(text), letter === 'b' ? null : letter)).toBe(expected),
  );

  it.each([
    ['bb.b', { from: 3, to: 2 }],
    ['b.bb', { from: 0, to: 1 }],
    ['bb..x', undefined],
    ['.bb', undefined],
    ['x.x', undefined],
    ['bxb.', undefined],
    ['bxbb.b', { from: 5, to: 4 }],
  ])('in %s the move is %j', (text, expected) => expect(joinBase(holders(text))).toEqual(expected));

  it('gives the base model one pass a step, whatever adapters come in between, while all fit', () =>
    fc.assert(
      fc.property(fc.array(fc.constantFrom(null, 'x', 'y'), { maxLength: 8 }), (groups) => {
        const sequences: (string | null | undefined)[] = new Array(8).fill(undefined);
        for (const group of groups) sequences[chooseSequence(sequences, group)] = group;
        expect(passes(sequences)).toBeLessThanOrEqual(1);
        expect(sequences.filter((holder) => holder !== undefined)).toHaveLength(groups.length);
      }),
    ));

  it('joins step by step with moves into free ids, each of which makes no more passes, and comes to an end', () =>
    fc.assert(
      fc.property(fc.array(fc.constantFrom(undefined, null, 'x', 'y'), { minLength: 1, maxLength: 16 }), (start) => {
        const sequences: (string | null | undefined)[] = [...start];
        let moves = 0;
        for (let move = joinBase(sequences); move !== undefined; move = joinBase(sequences)) {
          const before = passes(sequences);
          expect([sequences[move.to], sequences[move.from]]).toEqual([undefined, null]);
          sequences[move.to] = null;
          sequences[move.from] = undefined;
          expect(passes(sequences)).toBeLessThanOrEqual(before);
          expect(++moves).toBeLessThanOrEqual(16 * 16);
        }
        expect(sequences.filter((holder) => holder === null)).toHaveLength(start.filter((holder) => holder === null).length);
      }),
      { numRuns: 500 },
    ));
});
