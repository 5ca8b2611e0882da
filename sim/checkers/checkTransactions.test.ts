import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkTransactions } from './checkTransactions.js';
import type { ListTransaction } from './ListTransaction.js';

/** `name r:x=1,2 w:y=3 from-to [outcome]`; an empty list is `r:x=`. */
const history = (...lines: readonly string[]): readonly ListTransaction[] =>
  lines.map((line) => {
    const [name = '', ...words] = line.split(' ');
    const span = words.find((word) => /^\d+-/.test(word)) ?? '0-1000';
    const outcome = (words.find((word) => /^(unknown|none)$/.test(word)) ?? 'done') as ListTransaction['outcome'];
    const given = (kind: string) =>
      words.filter((word) => word.startsWith(kind)).map((word) => word.slice(2).split('=') as [string, string]);
    const [from, to] = span.split('-');
    return {
      name,
      outcome,
      reads: given('r:').map(([key, list]) => ({ key, values: list === '' ? [] : list.split(',').map(Number) })),
      appends: given('w:').map(([key, value]) => ({ key, value: Number(value) })),
      invokedMs: Number(from),
      returnedMs: to === '?' ? Number.POSITIVE_INFINITY : Number(to),
    };
  });

const whyOf = (lines: readonly string[], slackMs = 0): string => {
  const verdict = checkTransactions(history(...lines), { slackMs });
  return verdict.kind === 'violation' ? verdict.why : '';
};

describe('checkTransactions', () => {
  it.each([
    ['one after the other', ['a r:x= w:x=1 0-1', 'b r:x=1 w:x=2 2-3', 'c r:x=1,2 4-5']],
    ['two at once that do not touch', ['a r:x= w:x=1', 'b r:y= w:y=2', 'c r:x=1 r:y=2']],
    ['an unknown one that happened', ['a r:x= w:x=1 0-? unknown', 'b r:x=1 5-6']],
    ['an unknown one that never did', ['a w:x=1 0-? unknown', 'b r:x= 5-6', 'c r:x= 7-8']],
    ['a refused one', ['a w:x=1 0-1 none', 'b r:x= 5-6']],
    ['a read beside the write, either way', ['a r:x= w:x=1 0-9', 'b r:x= 1-2', 'c r:x=1 3-4']],
  ])('accepts %s', (_, lines) => {
    expect(whyOf(lines)).toBe('');
  });

  it.each([
    ['write skew (rw, rw)', ['a r:x= r:y= w:x=1', 'b r:x= r:y= w:y=2', 'c r:x=1 r:y=2'], /^no serial order: a -rw y→ b -rw x→$/],
    ['a lost update (rw, ww)', ['a r:x= w:x=1', 'b r:x= w:x=2', 'c r:x=1,2'], /^no serial order: .*(rw x|ww x)/],
    ['what flows in a circle (wr, wr)', ['a r:y=2 w:x=1', 'b r:x=1 w:y=2', 'c r:x=1 r:y=2'], /wr x→ b -wr y→/],
    ['half a commit (wr, rw)', ['a w:x=1 w:y=1', 'b r:x=1 r:y=', 'c r:x=1 r:y=1'], /no serial order/],
    ['writers in two orders (ww, ww)', ['a w:x=1 w:y=1', 'b w:x=2 w:y=2', 'c r:x=1,2 r:y=2,1'], /ww x→ b -ww y→/],
    ['a stale snapshot (time, rw)', ['a r:x= w:x=1 0-1', 'b r:x= 2-3', 'c r:x=1 4-5'], /no serial order: .*time/],
    ['two snapshots that see each other not', ['a w:x=1', 'b w:y=2', 'c r:x=1 r:y=', 'd r:x= r:y=2', 'e r:x=1 r:y=2'], /no serial order/],
    ['a read of what was refused', ['a w:x=1 none', 'b r:x=1'], /did not write/],
    ['lists that disagree', ['a w:x=1', 'b w:x=2', 'c r:x=1', 'd r:x=2,1'], /another read/],
    ['an acknowledged value that is gone', ['a r:x= w:x=1 0-1', 'b r:x= 0-2'], /is gone/],
    ['a value that came twice', ['a w:x=1', 'b r:x=1,1'], /twice/],
  ])('finds %s', (_, lines, why) => {
    expect(whyOf(lines)).toMatch(why);
  });

  it('allows a snapshot to be older by as much as clocks may differ, and no more', () => {
    const stale = ['a r:x= w:x=1 0-1', 'b r:x= 100-101', 'c r:x=1 400-401'];
    expect(whyOf(stale, 250)).toBe('');
    expect(whyOf(stale, 50)).toMatch(/time/);
  });

  it('accepts whatever a serial execution gives, and finds a read of it that is made old', () => {
    const step = fc.record({ reads: fc.subarray(['x', 'y', 'z']), appends: fc.subarray(['x', 'y', 'z']) });
    fc.assert(
      fc.property(fc.array(step, { minLength: 3, maxLength: 25 }), fc.nat(), (steps, place) => {
        const lists: { [key: string]: number[] } = { x: [], y: [], z: [] };
        const readAll = (key: string) => ({ key, values: [...(lists[key] ?? [])] });
        const serial: ListTransaction[] = steps.map(({ reads, appends }, i) => {
          const seen = reads.map(readAll);
          for (const key of appends) lists[key]?.push(i);
          const appended = appends.map((key) => ({ key, value: i }));
          return { name: `t${i}`, outcome: 'done', reads: seen, appends: appended, invokedMs: 10 * i, returnedMs: 10 * i + 5 };
        });
        const endMs = 10 * steps.length;
        const reads = ['x', 'y', 'z'].map(readAll);
        const final: ListTransaction = { name: 'final', outcome: 'done', reads, appends: [], invokedMs: endMs, returnedMs: endMs + 1 };
        const whole = [...serial, final];
        expect(checkTransactions(whole, { slackMs: 0 })).toEqual({ kind: 'serializable' });
        const at = whole.findIndex(({ reads: seen }, i) => i >= place % whole.length && seen.some(({ values }) => values.length > 0));
        const victim = whole[at];
        if (victim === undefined || at === whole.length - 1) return;
        const older = victim.reads.map((read) => ({ ...read, values: read.values.slice(0, -1) }));
        const bent = whole.map((one, i) => (i === at ? { ...victim, reads: older } : one));
        expect(checkTransactions(bent, { slackMs: 0 }).kind).toBe('violation');
      }),
    );
  });
});
