import { describe, expect, it } from 'vitest';
import { checkRegister, type RegisterOperation } from './checkRegister.js';

const bounds = { stepsMax: 10_000 };
const forever = Number.POSITIVE_INFINITY;

/** `kind value-or-seen from-to [outcome]`, such as `put a 1-3`, `read null 4-5`, `put b 2-? unknown`. */
const history = (...lines: readonly string[]): readonly RegisterOperation[] =>
  lines.map((line) => {
    const [kind, value, span, outcome = 'done'] = line.split(' ') as [
      RegisterOperation['kind'],
      string,
      string,
      RegisterOperation['outcome']?,
    ];
    const [from, to] = span.split('-');
    const given = value === 'null' ? null : value;
    return {
      kind,
      value: kind === 'read' || kind === 'remove' ? null : given,
      seen: kind === 'read' ? given : null,
      outcome,
      invokedMs: Number(from),
      returnedMs: to === '?' ? forever : Number(to),
    };
  });

const verdictOf = (...lines: readonly string[]): string => checkRegister(history(...lines), bounds).kind;

describe('checkRegister', () => {
  it.each([
    ['reads after writes', ['read null 0-1', 'put a 2-3', 'read a 4-5', 'put b 6-7', 'read b 8-9']],
    ['a read beside a write, either way', ['put a 0-1', 'put b 2-6', 'read a 3-4', 'read b 4.5-5']],
    ['an unknown write that happened', ['put a 0-1', 'put b 2-? unknown', 'read a 3-4', 'read b 5-6']],
    ['an unknown write that never happened', ['put a 0-1', 'put b 2-? unknown', 'read a 3-4', 'read a 5-6']],
    ['refusals that fit', ['update x 0-1 refused', 'insert a 2-3', 'insert b 4-5 refused', 'remove null 6-7', 'remove null 8-9 refused']],
    ['an insert after a concurrent removal', ['put a 0-1', 'remove null 2-5', 'insert b 3-6', 'read b 7-8']],
  ])('accepts %s', (_, lines) => {
    expect(verdictOf(...lines)).toBe('linearizable');
  });

  it.each([
    ['a stale read', ['put a 0-1', 'put b 2-3', 'read a 4-5']],
    ['a lost write', ['put a 0-1', 'read null 2-3']],
    ['a value that goes and comes back', ['put a 0-1', 'put b 2-9', 'read b 3-4', 'read a 5-6']],
    ['two inserts without a removal', ['insert a 0-3', 'insert b 1-2']],
    ['a refused write that took effect', ['put a 0-1', 'insert b 2-3 refused', 'read b 4-5']],
    ['an update of an absent document', ['update a 0-1', 'read a 2-3']],
    ['an unknown write before it was asked for', ['read b 0-1', 'put b 2-? unknown']],
  ])('finds %s', (_, lines) => {
    expect(verdictOf(...lines)).toBe('violation');
  });

  it('gives up within its bound', () => {
    const wide = Array.from({ length: 30 }, (_, i) => `put v${i} 0-? unknown`);
    expect(checkRegister(history(...wide, 'put a 1-2', 'read none 3-4'), { stepsMax: 500 }).kind).toBe('undecided');
  });
});
