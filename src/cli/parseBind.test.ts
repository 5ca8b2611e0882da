import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseBind } from './parseBind.js';

describe('parseBind', () => {
  it('takes any JSON as it is', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(parseBind(`x=${text}`)).toEqual(['x', JSON.parse(text)]);
      }),
    );
    expect(parseBind('a= [1, "b=c"] ')).toEqual(['a', [1, 'b=c']]);
  });

  it.each([
    'hello',
    '',
    ' two words',
    'Who approves a contract over 50,000 euros?',
    'a=b',
    '2024-01-01',
    '3 apples',
    'v1.2',
    'nullable',
    '-',
    '.',
    'Zürich',
    'e5',
    'a"b',
  ])('takes the plain text %j as a string', (text) => expect(parseBind(`x=${text}`)).toEqual(['x', text]));

  it.each([
    '05',
    '-05',
    '+5',
    '.5',
    '5.',
    '1,5',
    '1_000',
    '1.2.3',
    '0x10',
    '0b1',
    '10n',
    '1e',
    ' 05 ',
    'NaN',
    '-Infinity',
    '1e999',
    '[1e999]',
  ])('refuses %j, which could be meant as a number', (text) =>
    expect(() => parseBind(`x=${text}`)).toThrowError(expect.objectContaining({ code: 'USAGE' })),
  );

  it.each(['True', 'FALSE', 'NULL', 'None', 'undefined', '[1,', '{a: 1}', "{'a': 1}", '"open', "'quoted'"])(
    'refuses %j, which could be meant as another value',
    (text) => expect(() => parseBind(`x=${text}`)).toThrowError(expect.objectContaining({ code: 'USAGE' })),
  );

  it('says in one line how the value is written as a string', () => {
    expect(() => parseBind('x=05')).toThrowError(`--bind x=05: the value is neither JSON nor a plain word; as a string: --bind 'x="05"'`);
  });

  it.each(['x', '=1', ''])('refuses %j, which has no name or no value', (text) =>
    expect(() => parseBind(text)).toThrowError(expect.objectContaining({ code: 'USAGE' })),
  );
});
