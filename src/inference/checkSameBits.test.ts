import { describe, expect, it } from 'vitest';
import { ToyStepBackend } from '../../sim/engine/index.js';
import { withMethods } from '../../test/support/withMethods.js';
import type { BackendRow, StepBackend } from '../platform/index.js';
import { checkSameBits } from './checkSameBits.js';

const open = (sequences = 4): StepBackend => new ToyStepBackend({ sequences, contextTokens: 512, script: [] });

/** A machine whose logits change with what `differs` says of a call. */
function tremble(differs: (rows: readonly BackendRow[]) => boolean): StepBackend {
  const backend = open();
  let off = 0;
  return withMethods(backend, {
    decode: (rows) => {
      off = differs(rows) ? 1e-7 : 0;
      backend.decode(rows);
    },
    logits: (row) => backend.logits(row).map((logit) => Math.fround(logit * (1 + off) + off)),
  });
}

describe('checkSameBits', () => {
  it('passes a machine that keeps rule R, with one sequence or many, and leaves its sequences empty', () => {
    for (const sequences of [1, 2, 4]) {
      const backend = open(sequences);
      expect(checkSameBits(backend)).toBeUndefined();
      for (let sequence = 0; sequence < sequences; sequence++) expect(backend.sequenceLength(sequence)).toBe(0);
    }
  });

  it('finds a machine whose prompts depend on how they are cut', () => {
    expect(checkSameBits(tremble((rows) => rows.length === 64))).toBe('a prompt in pieces');
  });

  it('finds a machine whose rows depend on those beside them', () => {
    expect(checkSameBits(tremble((rows) => new Set(rows.map(({ sequence }) => sequence)).size > 1))).toBe('rows decoded together');
  });
});
