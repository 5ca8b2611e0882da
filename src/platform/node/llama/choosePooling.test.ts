import { describe, expect, it } from 'vitest';
import { choosePooling } from './choosePooling.js';
import { readEmbeddingMetadata } from './readEmbeddingMetadata.js';

type Value = number | string | boolean | readonly number[];
const isList = (value: Value): value is readonly number[] => Array.isArray(value);

describe('pooling of an embedding model (R23)', () => {
  it.each([
    ['what was asked for', { asked: 'cls', stated: 1, isCausal: true }, 'cls'],
    ['what the file says', { asked: undefined, stated: 4, isCausal: false }, 'rank'],
    ['of a causal model the last row, of another the mean', { asked: undefined, stated: undefined, isCausal: true }, 'last'],
    ['the same where the file says none', { asked: undefined, stated: 0, isCausal: false }, 'mean'],
    ['the same where it says what nobody knows', { asked: undefined, stated: 99, isCausal: false }, 'mean'],
  ] as const)('is %s', (_, model, pooling) => expect(choosePooling(model)).toBe(pooling));

  it('is read under the architecture of the file; what is of another form counts as absent', () => {
    const of = (entries: readonly (readonly [string, Value])[]) =>
      readEmbeddingMetadata({
        metadata: new Map([
          ['general.architecture', 'bert'],
          ...entries.flatMap(([name, value]) => (isList(value) ? [] : [[name, value] as const])),
        ]),
        lists: new Map(
          entries.flatMap(([name, value]) =>
            isList(value) ? [[name, { itemType: 4, count: value.length, numbers: value }] as const] : [],
          ),
        ),
      });
    const absent = { poolingType: undefined, dimensionsShorter: [], isCausal: true };
    expect(of([])).toEqual(absent);
    expect(
      of([
        ['bert.pooling_type', 2],
        ['bert.matryoshka_dimensions', [64, 32, 0, 1.5]],
        ['bert.attention.causal', false],
      ]),
    ).toEqual({ poolingType: 2, dimensionsShorter: [64, 32], isCausal: false });
    expect(
      of([
        ['llama.pooling_type', 2],
        ['bert.pooling_type', 'mean'],
        ['bert.matryoshka_dimensions', 64],
      ]),
    ).toEqual(absent);
  });
});
