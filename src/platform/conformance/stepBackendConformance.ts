import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BackendRow, StepBackend } from '../index.js';

export interface StepBackendSubject {
  readonly name: string;
  /** At least 4 sequences of at least 512 tokens. */
  readonly open: () => StepBackend;
  /** An adapter file that changes the model's logits. */
  readonly adapterPath: string;
}

const text = 'The server of the harbour office listens on port 7421 and writes its log to the third disk. ';

/** What every StepBackend keeps: rule R above all, and that a wrong id is an error and not the end of the process. */
export function stepBackendConformance({ name, open, adapterPath }: StepBackendSubject): void {
  describe(`StepBackend: ${name}`, () => {
    let backend: StepBackend;
    let prompt: Int32Array;
    beforeAll(() => {
      backend = open();
      prompt = backend.tokenize(text.repeat(12), { parseSpecial: false }).slice(0, 200);
    });
    afterAll(() => backend.close());

    const rowsOf = (sequence: number, from: number, to: number): BackendRow[] =>
      Array.from(prompt.subarray(from, to), (token, place) => ({
        token,
        position: from + place,
        sequence,
        wantLogits: from + place === to - 1,
      }));
    /** Computes a prompt cut at `cuts` and returns the logits after its last row. */
    const prefill = (sequence: number, cuts: readonly number[]): Float32Array => {
      backend.truncateSequence(sequence, 0);
      let from = 0;
      let rows: BackendRow[] = [];
      for (const to of cuts) {
        rows = rowsOf(sequence, from, to);
        backend.decode(rows);
        from = to;
      }
      return backend.logits(rows.length - 1).slice();
    };
    const next = (sequence: number, position: number): BackendRow => ({
      token: prompt[position % prompt.length] as number,
      position,
      sequence,
      wantLogits: true,
    });

    it('states facts that fit together', () => {
      const { facts } = backend;
      expect(facts.rowsMax % 64).toBe(0);
      expect(facts.rowsMax).toBeGreaterThanOrEqual(128);
      expect(facts.endTokens.size).toBeGreaterThan(0);
      for (const token of facts.endTokens) expect(token).toBeLessThan(facts.vocabularySize);
    });

    it('gives a text back from its tokens', () => {
      for (const sample of [text, 'grüße, 東京! 🙂', '', 'a\u0000b', '<|im_end|> is text']) {
        const tokens = backend.tokenize(sample, { parseSpecial: false });
        const bytes = Array.from(tokens).flatMap((token) => [...backend.tokenBytes(token)]);
        expect(Buffer.from(bytes).toString('utf8')).toBe(sample);
      }
    });

    it('makes control tokens of template parts only', () => {
      const controls = backend.tokenize(backend.facts.endText, { parseSpecial: true });
      expect(controls).toHaveLength(1);
      const asText = backend.tokenize(backend.facts.endText, { parseSpecial: false });
      expect(Array.from(asText)).not.toContain(controls[0]);
    });

    it('gives the same bits for a prompt in one piece and in pieces of 64 rows and more (rule R)', () => {
      const whole = prefill(0, [200]);
      expect(prefill(1, [64, 200])).toEqual(whole);
      expect(prefill(2, [70, 136, 200])).toEqual(whole);
    });

    it('gives the same bits for decode rows alone and together (rule R)', () => {
      const alone = [0, 1, 2].map((sequence) => {
        prefill(sequence, [100 + sequence * 40]);
        backend.decode([next(sequence, 100 + sequence * 40)]);
        return backend.logits(0).slice();
      });
      const rows = [0, 1, 2].map((sequence) => {
        prefill(sequence, [100 + sequence * 40]);
        return next(sequence, 100 + sequence * 40);
      });
      backend.decode(rows);
      for (const [row, expected] of alone.entries()) expect(backend.logits(row)).toEqual(expected);
    });

    it('gives rows that follow each other in one call the bits of one by one, and those behind them can be taken back (R26)', () => {
      const oneByOne = [150, 151, 152, 153].map((position) => {
        if (position === 150) prefill(0, [150]);
        backend.decode([next(0, position)]);
        return backend.logits(0).slice();
      });
      const isSame = (logits: Float32Array, expected: Float32Array | undefined): boolean =>
        logits.every((logit, token) => Object.is(logit, expected?.[token]));
      prefill(1, [100]);
      prefill(2, [150]);
      backend.decode([next(1, 100), next(1, 101), next(1, 102), next(2, 150), next(2, 151), { ...next(2, 152), token: 0 }]);
      expect([0, 1].map((row) => isSame(backend.logits(3 + row), oneByOne[row]))).toEqual([true, true]);
      backend.truncateSequence(2, 152);
      backend.decode([next(2, 152), next(2, 153)]);
      expect([2, 3].map((row) => isSame(backend.logits(row - 2), oneByOne[row]))).toEqual([true, true]);
    });

    it('forgets what was cut off', () => {
      const expected = prefill(0, [128]);
      backend.decode([next(0, 128)]);
      backend.truncateSequence(0, 64);
      const rows = rowsOf(0, 64, 128);
      backend.decode(rows);
      expect(backend.logits(rows.length - 1)).toEqual(expected);
    });

    it('moves a sequence to another id without changing its next bits', () => {
      prefill(3, [150]);
      backend.decode([next(3, 150)]);
      const expected = backend.logits(0).slice();
      prefill(3, [150]);
      backend.truncateSequence(1, 0);
      backend.moveSequence(3, 1);
      backend.decode([next(1, 150), { ...next(3, 0), wantLogits: false }]);
      expect(backend.logits(0)).toEqual(expected);
      expect(() => backend.moveSequence(3, 1)).toThrow(expect.objectContaining({ code: 'INTERNAL' }));
      expect(() => backend.moveSequence(3, 3)).toThrow(expect.objectContaining({ code: 'INTERNAL' }));
    });

    it('copies a sequence: both go on with the same bits, also after a cut', () => {
      prefill(2, [150]);
      backend.decode([next(2, 150)]);
      const expected = backend.logits(0).slice();
      backend.truncateSequence(2, 150);
      backend.truncateSequence(0, 0);
      backend.copySequence(2, 0);
      expect([0, 2].map((sequence) => backend.sequenceLength(sequence))).toEqual([150, 150]);
      backend.decode([next(0, 150), next(2, 150)]);
      expect(backend.logits(0)).toEqual(expected);
      expect(backend.logits(1)).toEqual(expected);
      const whole = prefill(1, [200]);
      backend.truncateSequence(0, 100);
      backend.decode(rowsOf(0, 100, 200));
      expect(backend.logits(99)).toEqual(whole);
      expect(() => backend.copySequence(2, 0)).toThrow(expect.objectContaining({ code: 'INTERNAL' }));
    });

    it('exports a sequence and imports it into another id with the same bits, also after a cut', () => {
      const whole = prefill(3, [200]);
      backend.decode([next(3, 200)]);
      const afterOne = backend.logits(0).slice();
      backend.truncateSequence(3, 200);
      const state = backend.exportSequence(3);
      for (const sequence of [0, 1, 3]) backend.truncateSequence(sequence, 0);
      backend.importSequence(1, state, 200);
      expect(backend.sequenceLength(1)).toBe(200);
      backend.decode([next(1, 200)]);
      expect(backend.logits(0)).toEqual(afterOne);
      backend.importSequence(0, state, 200);
      backend.truncateSequence(0, 117);
      backend.decode(rowsOf(0, 117, 200));
      expect(backend.logits(82)).toEqual(whole);
      expect(() => backend.importSequence(0, state, 200)).toThrow(expect.objectContaining({ code: 'INTERNAL' }));
    });

    it('has moved and copied at once: what comes after, before the next decode, meets the finished contents', () => {
      const whole = prefill(0, [200]);
      const state = backend.exportSequence(0);
      const fillWithOthers = (): void => {
        for (const sequence of [1, 2, 3]) {
          backend.truncateSequence(sequence, 0);
          const others = rowsOf(sequence, 0, 150).map((row) => ({ ...row, token: prompt[199 - row.position] as number }));
          backend.decode(others);
          if (sequence > 1) backend.truncateSequence(sequence, 0);
        }
      };
      const steps: readonly (readonly [string, () => void, number])[] = [
        ['an empty sequence moved, its new id filled', () => backend.moveSequence(2, 3), 3],
        ['a sequence copied, its copy removed and filled', () => backend.copySequence(1, 3), 3],
        ['a sequence moved, its old id filled', () => backend.moveSequence(1, 3), 1],
        ['a sequence moved on, the id between filled', () => [backend.moveSequence(1, 2), backend.moveSequence(2, 3)], 2],
      ];
      for (const [title, step, filled] of steps) {
        fillWithOthers();
        step();
        backend.truncateSequence(filled, 0);
        backend.importSequence(filled, state, 200);
        backend.truncateSequence(filled, 100);
        backend.decode(rowsOf(filled, 100, 200));
        expect(
          backend.logits(99).every((logit, token) => logit === whole[token]),
          title,
        ).toBe(true);
      }
      fillWithOthers();
      backend.copySequence(1, 2);
      const copied = backend.exportSequence(2);
      backend.importSequence(3, copied, 150);
      backend.decode([next(1, 150), next(3, 150)]);
      expect(backend.logits(1).slice(), 'a copy exported').toEqual(backend.logits(0).slice());
    });

    it('refuses a state that is cut off, of another length or no state, and stays usable', () => {
      const whole = prefill(0, [200]);
      const state = backend.exportSequence(0);
      backend.truncateSequence(0, 0);
      const invalid = expect.objectContaining({ code: 'KV_STATE_INVALID' });
      const wrong = [state.slice(0, state.length >> 1), state.slice(0, state.length - 1), new Uint8Array(0), new Uint8Array(512).fill(7)];
      for (const bytes of wrong) expect(() => backend.importSequence(0, bytes, 200)).toThrow(invalid);
      expect(() => backend.importSequence(0, state, 199)).toThrow(invalid);
      expect(backend.sequenceLength(0)).toBe(0);
      expect(prefill(0, [200])).toEqual(whole);
    });

    it('switches an adapter on and off', () => {
      const base = prefill(0, [100]);
      const { digest } = backend.loadAdapter({ path: adapterPath });
      expect(backend.loadAdapter({ path: adapterPath, digest }).digest).toBe(digest);
      backend.useAdapter({ digest, scale: 1 });
      const adapted = prefill(1, [100]);
      expect(adapted).not.toEqual(base);
      backend.useAdapter(null);
      expect(prefill(0, [100])).toEqual(base);
      backend.useAdapter({ digest, scale: 1 });
      expect(prefill(2, [100])).toEqual(adapted);
      backend.unloadAdapter(digest);
      expect(() => backend.useAdapter({ digest, scale: 1 })).toThrow(expect.objectContaining({ code: 'INTERNAL' }));
      backend.useAdapter(null);
      expect(prefill(0, [100])).toEqual(base);
    });

    it('keeps rule R with an adapter: the same bits in pieces, and for decode rows alone and together', () => {
      const { digest } = backend.loadAdapter({ path: adapterPath });
      const differ = (left: Float32Array, right: Float32Array): boolean => left.some((logit, token) => logit !== right[token]);
      for (const scale of [1, 0.5]) {
        backend.useAdapter({ digest, scale });
        const whole = prefill(0, [200]);
        expect([differ(prefill(1, [64, 200]), whole), differ(prefill(2, [70, 136, 200]), whole)]).toEqual([false, false]);
        const lengths = [0, 1, 2, 3].map((sequence) => 70 + sequence * 40);
        const alone = lengths.map((length, sequence) => {
          prefill(sequence, [length]);
          backend.decode([next(sequence, length)]);
          return backend.logits(0).slice();
        });
        for (const [first, last] of [
          [0, 1],
          [1, 2],
          [0, 2],
          [1, 3],
          [0, 3],
        ] as const) {
          const together = lengths.flatMap((length, sequence) => (sequence < first || sequence > last ? [] : [next(sequence, length)]));
          for (const { sequence, position } of together) backend.truncateSequence(sequence, position);
          backend.decode(together);
          const changed = together.filter(({ sequence }, row) => differ(backend.logits(row), alone[sequence] as Float32Array));
          expect(changed, `${scale}: ${first} to ${last}`).toEqual([]);
        }
      }
      backend.useAdapter(null);
      backend.unloadAdapter(digest);
    });

    it('uses one file at several scales, each with its own bits whatever was used before', () => {
      const { digest } = backend.loadAdapter({ path: adapterPath });
      const at = (scale: number | null, sequence: number): Float32Array => {
        backend.useAdapter(scale === null ? null : { digest, scale });
        return prefill(sequence, [100]);
      };
      const [base, half, whole] = [at(null, 0), at(0.5, 1), at(1, 2)];
      const differ = (left: Float32Array, right: Float32Array): boolean => left.some((logit, token) => logit !== right[token]);
      expect([differ(base, half), differ(half, whole), differ(base, whole)]).toEqual([true, true, true]);
      expect([differ(at(1, 0), whole), differ(at(0.5, 1), half), differ(at(null, 2), base)]).toEqual([false, false, false]);
      backend.useAdapter({ digest, scale: 0.5 });
      backend.unloadAdapter(digest);
      expect(differ(prefill(0, [100]), base)).toBe(false);
    });

    it('refuses an adapter of another digest, or none', () => {
      const invalid = expect.objectContaining({ code: 'ADAPTER_INVALID' });
      expect(() => backend.loadAdapter({ path: adapterPath, digest: 'f'.repeat(64) })).toThrow(invalid);
      expect(() => backend.loadAdapter({ path: '' })).toThrow(invalid);
    });

    it('refuses ids out of range, wrong positions, wrong order and too many rows', () => {
      const { vocabularySize, sequencesMax, rowsMax, contextTokens } = backend.facts;
      const row: BackendRow = { token: 0, position: 0, sequence: 3, wantLogits: true };
      backend.truncateSequence(3, 0);
      const wrong: readonly (readonly BackendRow[])[] = [
        [],
        [{ ...row, token: vocabularySize }],
        [{ ...row, token: -1 }],
        [{ ...row, token: 0.5 }],
        [{ ...row, sequence: sequencesMax }],
        [{ ...row, sequence: -1 }],
        [{ ...row, position: 1 }],
        [{ ...row, position: contextTokens }],
        [row, row],
        [row, { ...row, sequence: 2 }],
        Array.from({ length: rowsMax + 1 }, (_, position) => ({ ...row, position, wantLogits: false })),
      ];
      for (const rows of wrong) expect(() => backend.decode(rows)).toThrow(expect.objectContaining({ code: 'INTERNAL' }));
      expect(() => backend.tokenBytes(vocabularySize)).toThrow(expect.objectContaining({ code: 'INTERNAL' }));
      backend.decode([row]);
      expect(() => backend.logits(1)).toThrow(expect.objectContaining({ code: 'INTERNAL' }));
    });
  });
}
