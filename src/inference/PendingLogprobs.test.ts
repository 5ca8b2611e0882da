import { expect, it } from 'vitest';
import { utf8 } from '../base/index.js';
import { PendingLogprobs } from './PendingLogprobs.js';

const of = (text: string) => ({ token: 1, bytes: [...utf8.encode(text)], logprob: -1, top: [] });
const texts = (taken: readonly { readonly bytes: readonly number[] }[]) => taken.map(({ bytes }) => utf8.decode(Uint8Array.from(bytes)));

it('gives a token with the text that first shows a part of it', () => {
  const pending = new PendingLogprobs();
  for (const piece of ['He', 'llo ', 'wörld']) pending.push(of(piece));
  expect(texts(pending.take('Hel'))).toEqual(['He', 'llo ']);
  expect(texts(pending.take('lo '))).toEqual([]);
  expect(texts(pending.take('wö'))).toEqual(['wörld']);
});

it('drops tokens beyond the last text that is shown', () => {
  const pending = new PendingLogprobs();
  for (const piece of ['yes', '\n', 'END']) pending.push(of(piece));
  pending.dropBeyond('yes');
  expect(texts(pending.take('yes'))).toEqual(['yes']);
  expect(texts(pending.take('more'))).toEqual([]);
});
