import { utf8 } from '../../base/index.js';
import { type Expression, emptyText, expr, type Range, type Rules } from './Expression.js';

/**
 * Any text in which `mark` does not occur, or one that goes on with `afterMark` at its first occurrence; the rule to begin at is `NAME 0`.
 * Rule k stands where the last k bytes begin the mark: the automaton of Knuth, Morris and Pratt, right-recursive, so that it needs no stack.
 */
export function textWithout(mark: string, afterMark: Expression, name: string): Rules {
  const bytes = utf8.encode(mark);
  const states = Array.from({ length: bytes.length }, (_, state) => state);
  const goOn = (state: number): Expression => (state === bytes.length ? afterMark : expr.rule(`${name} ${state}`));
  const expressionOf = (state: number): Expression => {
    const named = [...new Set(bytes)].sort((left, right) => left - right);
    const arcs = named.map((byte) => expr.sequence(byteIn([{ from: byte, to: byte }]), goOn(stateAfter(bytes, state, byte))));
    return expr.choice(emptyText, expr.sequence(byteIn(without(named)), goOn(0)), ...arcs);
  };
  return new Map(states.map((state) => [`${name} ${state}`, expressionOf(state)]));
}

const byteIn = (ranges: readonly Range[]): Expression => ({ kind: 'bytes', ranges });

/** How many bytes at the end of `mark[0, state) + byte` begin the mark. */
function stateAfter(mark: Uint8Array, state: number, byte: number): number {
  const read = [...mark.subarray(0, state), byte];
  for (let length = read.length; length > 0; length--) {
    if (read.slice(-length).every((each, place) => each === mark[place])) return length;
  }
  return 0;
}

function without(bytes: readonly number[]): readonly Range[] {
  const ranges: Range[] = [];
  let from = 0;
  for (const byte of [...bytes, 256]) {
    if (byte > from) ranges.push({ from, to: byte - 1 });
    from = byte + 1;
  }
  return ranges;
}
