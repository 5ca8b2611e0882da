import { expect, it } from 'vitest';
import { QuickClock, ToyStepBackend } from '../../../sim/engine/index.js';
import { withMethods } from '../../../test/support/withMethods.js';
import { PinoLogger } from '../../platform/node/index.js';
import { PagedKVCache } from './PagedKVCache.js';

/** A cache over the toy model whose copies take so many milliseconds. */
function open(copyMs: number) {
  const toy = new ToyStepBackend({ sequences: 2, contextTokens: 512, script: [] });
  let nowMs = 0;
  const clock = withMethods(new QuickClock(), { monotonicMs: () => nowMs });
  const backend = withMethods(toy, {
    exportSequence: (sequence: number) => {
      nowMs += copyMs;
      return toy.exportSequence(sequence);
    },
  });
  const bounds = { storeBytesMax: 1_000_000, cellPagesMax: 64, reuseTokensMin: 64, copyCostWeight: 0.5 };
  const logger = PinoLogger.open({ level: 'error', destination: '/dev/null' });
  const pages = new PagedKVCache({ backend, logger, clock, ...bounds });
  const begin = (scope: string, rows = 100): void => {
    const prompt = Int32Array.from({ length: rows }, (_, place) => 1 + (place % 50));
    pages.open(0, { scope, prompt, rows });
    const all = Array.from(prompt, (token, position) => ({ token, position, sequence: 0, wantLogits: false }));
    for (let from = 0; from < rows; from += 100) toy.decode(all.slice(from, from + 100));
    pages.grow(0, rows);
  };
  return { pages, begin };
}

it('keeps the rows of a suspended request where that costs less than computing them again, and not where it costs more (R20)', () => {
  const { pages, begin } = open(10);
  const keeps = (recomputeMs: number | undefined): boolean => {
    begin('m');
    const rows = pages.suspend(0, recomputeMs);
    pages.discard(rows);
    return rows.blob !== undefined;
  };
  expect(keeps(1)).toBe(true); // nothing is measured yet
  expect([19, 21, undefined].map(keeps)).toEqual([false, true, true]); // 10 ms out, as much back
  expect(pages.store.held).toBe(0);
  pages.check();
});

it('keeps one buffer of a conversation: a longer prompt serves those that its beginning served', () => {
  const { pages, begin } = open(0);
  for (const rows of [100, 180, 260]) {
    begin('m', rows);
    pages.promptEnded(0);
    pages.close(0);
  }
  expect(pages.store.cached).toBe(Math.ceil(260 / 16));
  for (const [rows, shared] of [
    [180, 116],
    [400, 260],
  ] as const) {
    const prompt = Int32Array.from({ length: rows }, (_, place) => 1 + (place % 50));
    pages.open(0, { scope: 'm', prompt, rows });
    expect(pages.reuse(0)).toBe(shared);
    pages.close(0);
  }
  begin('other', 100);
  pages.promptEnded(0);
  pages.close(0);
  expect(pages.store.cached).toBe(Math.ceil(260 / 16) + Math.ceil(100 / 16));
});
