import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { inferenceOptions } from '../options.js';
import { choosePieces, type PieceState } from './choosePieces.js';

const options = inferenceOptions.parse({});
const state = (changes: Partial<PieceState>): PieceState => ({
  waiting: [{ rows: 1000, dueInMs: 60_000 }],
  decoding: 8,
  someoneReads: true,
  costs: { prefillRowMs: 1.6, decodeStepMs: 50 },
  rowsMax: 512,
  ...changes,
});

describe('choosePieces', () => {
  it('leaves decoding requests as much as it can while prompts are in no hurry', () => {
    expect(choosePieces(state({}), options)).toMatchObject({ rows: 64, decodeSteps: 4 });
  });

  it('takes larger pieces, and fewer steps between them, as the first token becomes due', () => {
    const rates = [60_000, 4_500, 3_000, 2_000].map((dueInMs) => choosePieces(state({ waiting: [{ rows: 1000, dueInMs }] }), options));
    const pace = rates.map(({ rows, decodeSteps }) => rows / decodeSteps);
    expect([...pace].sort((left, right) => left - right)).toEqual(pace);
    expect(pace[3]).toBeGreaterThan(2 * (pace[0] as number));
  });

  it('keeps the service level between two tokens, whatever is due, unless the smallest piece is too long already', () => {
    const costs = fc.record({
      prefillRowMs: fc.double({ min: 0.1, max: 10, noNaN: true }),
      decodeStepMs: fc.integer({ min: 1, max: 300 }),
    });
    const waiting = fc.array(fc.record({ rows: fc.integer({ min: 1, max: 4000 }), dueInMs: fc.integer({ min: -5000, max: 20_000 }) }), {
      minLength: 1,
      maxLength: 6,
    });
    fc.assert(
      fc.property(costs, waiting, (known, prompts) => {
        const { rows, decodeSteps } = choosePieces(state({ costs: known, waiting: prompts }), options);
        expect(rows % 64).toBe(0);
        expect(decodeSteps).toBeGreaterThanOrEqual(options.decodeStepsBetweenPiecesMin);
        expect(decodeSteps).toBeLessThanOrEqual(options.decodeStepsBetweenPiecesMax);
        const waitMs = rows * known.prefillRowMs + known.decodeStepMs;
        expect(rows === 64 || waitMs <= options.serviceInterTokenMs).toBe(true);
      }),
    );
  });

  it('ends prompts as soon as the level between tokens allows when none can be in time', () => {
    const late = choosePieces(state({ waiting: [{ rows: 3000, dueInMs: -1 }] }), { ...options, serviceAimShare: 1 });
    expect(late).toMatchObject({ rows: 192, decodeSteps: options.decodeStepsBetweenPiecesMin });
    const careful = choosePieces(state({ waiting: [{ rows: 3000, dueInMs: 1_000 }] }), { ...options, serviceAimShare: 0.75 });
    expect(careful).toMatchObject({ rows: 128, decodeSteps: options.decodeStepsBetweenPiecesMin });
  });

  it('looks at every prompt that waits: those behind a long one count too', () => {
    const waiting = [
      { rows: 300, dueInMs: 60_000 },
      { rows: 100, dueInMs: 900 },
    ];
    const { rows, decodeSteps } = choosePieces(state({ waiting }), options);
    expect(rows / decodeSteps).toBeGreaterThan(16);
  });

  it('lets answers that nobody reads yet stand still for a burst of prompts, within a level of their own', () => {
    const schedule = choosePieces(state({ someoneReads: false }), options);
    expect(schedule).toEqual({ rows: 512, decodeSteps: 1, rowsBetween: 2500 });
    const slow = choosePieces(state({ someoneReads: false, costs: { prefillRowMs: 100, decodeStepMs: 50 } }), options);
    expect(slow.rows).toBe(64);
  });

  it('takes the smallest pieces before anything is measured', () => {
    const costs = { prefillRowMs: undefined, decodeStepMs: undefined };
    expect(choosePieces(state({ costs }), options)).toMatchObject({ rows: 64, decodeSteps: 4 });
    const waiting = [1, 2].map(() => ({ rows: 10, dueInMs: 0 }));
    expect(choosePieces(state({ costs, waiting, decoding: 1 }), options)).toMatchObject({ rows: 64, decodeSteps: 2 });
  });
});
