import { describe, expect, it } from 'vitest';
import { keysOf } from './keysOf.js';

describe('keysOf', () => {
  it('takes keys and ids of the collection, each once', () => {
    expect(keysOf(['a', 'c/a', 'c/b', 7, null], 'c')).toEqual(['a', 'b']);
    expect(keysOf('a', 'c')).toEqual([]);
  });

  it.each([['x'.repeat(255)], ['x'.repeat(100_000)], ['c/'], [''], ['d/a'], ['ä'], ['a\u0000']])(
    'leaves out what no document can be named, so that no store is asked for it (%.20j)',
    (name) => {
      expect(keysOf([name, `c/${name}`, 'x'.repeat(254)], 'c')).toEqual(['x'.repeat(254)]);
    },
  );
});
