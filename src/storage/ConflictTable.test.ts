import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ConflictTable } from './ConflictTable.js';
import { ReadSet } from './ReadSet.js';
import type { Timestamp } from './Timestamp.js';

const at = (timestamp: number): Timestamp => timestamp as Timestamp;
const footprint = (readTimestamp: number, reads: string[], writes: string[] = []) => ({
  readTimestamp: at(readTimestamp),
  reads: new ReadSet({ keys: reads, ranges: [] }),
  writes: new Set(writes),
});
const table = (recentCommitsMax = 100) => new ConflictTable({ recentCommitsMax, floor: at(0) });

describe('ConflictTable', () => {
  it('a footprint conflicts exactly when a commit after its snapshot wrote a name it has, whatever the order of the commits', () => {
    const name = fc.constantFrom('1/a', '1/b', '2/a');
    const commit = fc.record({ timestamp: fc.integer({ min: 1, max: 20 }), names: fc.uniqueArray(name, { minLength: 1 }) });
    fc.assert(
      fc.property(fc.array(commit), fc.nat(20), fc.uniqueArray(name), fc.uniqueArray(name), (commits, readTimestamp, reads, writes) => {
        const conflicts = table();
        for (const one of commits) conflicts.beginCommit(at(one.timestamp), new Set(one.names)).settle();
        const expected = commits.some(
          (one) => one.timestamp > readTimestamp && one.names.some((n) => reads.includes(n) || writes.includes(n)),
        );
        expect(conflicts.validate(footprint(readTimestamp, reads, writes)).kind).toBe(expected ? 'conflict' : 'valid');
      }),
    );
  });

  it('a commit that failed for certain is no conflict for anybody, and the others stay', () => {
    const conflicts = table();
    const failed = conflicts.beginCommit(at(5), new Set(['1/a']));
    conflicts.beginCommit(at(6), new Set(['1/b'])).settle();
    failed.forget();
    expect(conflicts.pendingUpTo(at(9))).toEqual([]);
    expect(conflicts.validate(footprint(4, ['1/a'])).kind).toBe('valid');
    expect(conflicts.validate(footprint(4, ['1/b'])).kind).toBe('conflict');
  });

  it('remembers recentCommitsMax commits; a snapshot before the forgotten ones is too old', () => {
    const conflicts = table(2);
    for (const timestamp of [5, 6, 7]) conflicts.beginCommit(at(timestamp), new Set(['1/a'])).settle();
    expect(conflicts.validate(footprint(4, [])).kind).toBe('too-old');
    expect(conflicts.validate(footprint(5, ['1/a'])).kind).toBe('conflict');
    conflicts.forgetUpTo(at(7));
    expect(conflicts.validate(footprint(6, [])).kind).toBe('too-old');
    expect(conflicts.validate(footprint(7, ['1/a'])).kind).toBe('valid');
  });

  it('a lock blocks who would write what it read or wrote, or read what it wrote; unlocking ends the wait', async () => {
    const conflicts = table();
    conflicts.lock('t', at(5), { reads: new ReadSet({ keys: ['1/r'], ranges: [] }), writes: new Set(['1/w']) });
    expect(conflicts.validate(footprint(4, ['1/r'])).kind).toBe('valid');
    const kinds = [footprint(4, [], ['1/r']), footprint(4, ['1/w']), footprint(4, [], ['1/w'])].map((one) => conflicts.validate(one).kind);
    expect(kinds).toEqual(['blocked', 'blocked', 'blocked']);
    const verdict = conflicts.validate(footprint(4, ['1/w']));
    conflicts.unlock('t');
    if (verdict.kind === 'blocked') await verdict.until;
    expect(conflicts.validate(footprint(4, ['1/w'])).kind).toBe('valid');
    expect(() => {
      for (let i = 0; i < 2; i++) conflicts.lock('u', at(6), { reads: new ReadSet(), writes: new Set() });
    }).toThrow('prepared once');
  });

  it('readers wait for what is pending at or below their timestamp', () => {
    const conflicts = table();
    const commit = conflicts.beginCommit(at(5), new Set(['1/a']));
    conflicts.lock('t', at(7), { reads: new ReadSet(), writes: new Set(['1/b']) });
    expect([4, 5, 7].map((timestamp) => conflicts.pendingUpTo(at(timestamp)).length)).toEqual([0, 1, 1]);
    expect([6, 7, 8].map((timestamp) => conflicts.undecidedUpTo(at(timestamp), () => true).length)).toEqual([0, 1, 1]);
    expect(conflicts.undecidedUpTo(at(9), () => false)).toEqual([]);
    expect([conflicts.isBeingWritten('1/a'), conflicts.isBeingWritten('1/b')]).toEqual([true, false]);
    commit.settle();
    conflicts.unlock('t');
    expect(conflicts.pendingUpTo(at(9))).toEqual([]);
    expect(conflicts.isBeingWritten('1/a')).toBe(false);
  });
});

describe('ReadSet', () => {
  it('covers what was read, also after a round trip through JSON', () => {
    const key = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 3 });
    const read = fc.record({ collection: fc.nat(2), key: fc.option(key, { nil: undefined }), isRange: fc.boolean() });
    fc.assert(
      fc.property(fc.array(read, { maxLength: 8 }), fc.nat(2), key, (reads, collection, probe) => {
        const set = new ReadSet();
        for (const one of reads) {
          if (one.isRange) set.addRange(one.collection, one.key);
          else if (one.key !== undefined) set.addKey(one.collection, one.key);
        }
        const expected = reads.some(
          (one) => one.collection === collection && (one.isRange ? one.key === undefined || probe > one.key : one.key === probe),
        );
        const restored = new ReadSet(JSON.parse(JSON.stringify(set.toJson())));
        expect([set.covers(`${collection}/${probe}`), restored.covers(`${collection}/${probe}`)]).toEqual([expected, expected]);
        expect(restored.size).toBe(set.size);
      }),
    );
  });
});
