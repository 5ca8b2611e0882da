import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { inferenceOptions } from '../options.js';
import { type BatchPlan, firstTurn, planStep, type SchedulerState, type SequenceState, turnAfter } from './planStep.js';

const options = inferenceOptions.parse({});
const rowsMax = 256;
const fresh = {
  replayTokens: 0,
  replayedTokens: 0,
  answered: false,
  firstTokenDueMs: 0,
  streamed: true,
  draftedTokens: 0,
  draftShare: 0,
  answerTokensLeft: 9,
};
const unmeasured = {
  costs: { prefillRowMs: undefined, decodeStepMs: undefined },
  drafts: { stepMs: () => undefined, outputsMax: 64, mayDraft: true },
  nowMs: 0,
};
/** Of a quiet machine: pieces of 192 rows just keep the service level. */
const measured = { costs: { prefillRowMs: 1.6, decodeStepMs: 50 }, drafts: { stepMs: () => 50, outputsMax: 64, mayDraft: true }, nowMs: 0 };

interface Work {
  readonly adapterGroup: string | null;
  readonly promptTokens: number;
  readonly answerTokens: number;
}

interface Running extends SequenceState {
  answerTokensLeft: number;
  prefilledTokens: number;
}

const isPrefilling = (one: Running): boolean => one.prefilledTokens < one.promptTokens;
const oldestOf = (running: readonly Running[]): Running | undefined =>
  [...running].sort((left, right) => left.admission - right.admission)[0];

/** Counts what the plan computed of a sequence; false when it has no part in it. */
function servedBy(plan: BatchPlan, slot: Running): boolean {
  if (plan.kind === 'prefill' && plan.sequence === slot.sequence) slot.prefilledTokens += plan.rows;
  else if (plan.kind !== 'decode' || !plan.sequences.includes(slot.sequence)) return false;
  return true;
}

/** Counts a token of the answer, once the prompt is computed. */
const isOver = (slot: Running): boolean => !isPrefilling(slot) && --slot.answerTokensLeft <= 0;

/** Runs the planner over work that is admitted to the lowest free id, and hands every plan to `watch` with the state it was made from. */
function runAll(
  work: readonly Work[],
  sequences: number,
  watch: (plan: BatchPlan, running: readonly Running[]) => void,
  known: Omit<SchedulerState, 'sequences' | 'turn' | 'rowsMax'> = unmeasured,
): void {
  const slots: (Running | undefined)[] = new Array<undefined>(sequences).fill(undefined);
  let turn = firstTurn;
  let admission = 0;
  for (let steps = 0; ; steps++) {
    expect(steps).toBeLessThan(100_000);
    for (let sequence = 0; sequence < sequences && admission < work.length; sequence++) {
      if (slots[sequence] !== undefined) continue;
      const { answerTokens, ...rest } = work[admission] as Work;
      slots[sequence] = { ...rest, ...fresh, sequence, admission: admission++, prefilledTokens: 0, answerTokensLeft: answerTokens };
    }
    const running = slots.filter((slot) => slot !== undefined);
    const plan = planStep({ sequences: running, turn, rowsMax, ...known }, options);
    watch(plan, running);
    if (plan.kind === 'idle') return;
    turn = turnAfter(turn, plan);
    for (const slot of running) if (servedBy(plan, slot) && isOver(slot)) slots[slot.sequence] = undefined;
  }
}

const workload = fc.array(
  fc.record({
    adapterGroup: fc.constantFrom(null, 'a', 'b'),
    promptTokens: fc.integer({ min: 1, max: 1200 }),
    answerTokens: fc.integer({ min: 1, max: 40 }),
  }),
  { minLength: 1, maxLength: 24 },
);

describe('planStep keeps rule R (ENGINE-BATCH)', () => {
  it('cuts every prompt into pieces of 64 rows and more, a prompt below 64 not at all', () => {
    fc.assert(
      fc.property(workload, fc.constantFrom(unmeasured, measured), (work, known) => {
        const watch = (plan: BatchPlan, running: readonly Running[]): void => {
          if (plan.kind !== 'prefill') return;
          const prompt = running.find(({ sequence }) => sequence === plan.sequence) as Running;
          const whole = plan.from === 0 && plan.last;
          expect(plan.rows >= 64 || whole).toBe(true);
          expect(plan.rows).toBeLessThanOrEqual(rowsMax);
          expect(plan.from).toBe(prompt.prefilledTokens);
          expect(plan.last).toBe(plan.from + plan.rows === prompt.promptTokens);
          if (whole) expect(plan.rows).toBe(prompt.promptTokens);
        };
        runAll(work, 8, watch, known);
      }),
    );
  });

  it('decodes every decoding sequence of one adapter group, ids ascending, and nothing that is still prefilling', () => {
    fc.assert(
      fc.property(workload, (work) => {
        runAll(work, 8, (plan, running) => {
          if (plan.kind !== 'decode') return;
          const expected = running
            .filter((one) => one.adapterGroup === plan.adapterGroup && one.prefilledTokens === one.promptTokens)
            .map(({ sequence }) => sequence);
          expect(plan.sequences).toEqual(expected);
          expect(expected.length).toBeGreaterThan(0);
          expect([...expected].sort((left, right) => left - right)).toEqual(expected);
        });
      }),
    );
  });

  it('starves no adapter group: each gets its turn within those of the others', () => {
    fc.assert(
      fc.property(workload, (work) => {
        const idleSteps = new Map<string | null, number>();
        runAll(work, 8, (plan, running) => {
          if (plan.kind === 'idle') return;
          for (const group of new Set(running.map(({ adapterGroup }) => adapterGroup))) {
            const idle = group === plan.adapterGroup ? 0 : (idleSteps.get(group) ?? 0) + 1;
            expect(idle).toBeLessThanOrEqual(2 * options.adapterTurnStepsMax);
            idleSteps.set(group, idle);
          }
        });
      }),
    );
  });

  it('starves no prompt: those of a group go in order, and a piece follows a few decode steps', () => {
    fc.assert(
      fc.property(workload, (work) => {
        let decodeSteps = 0;
        runAll(work, 8, (plan, running) => {
          if (plan.kind === 'idle') return;
          const waiting = running.filter((one) => one.adapterGroup === plan.adapterGroup && isPrefilling(one));
          if (plan.kind === 'prefill') expect(plan.sequence).toBe(oldestOf(waiting)?.sequence);
          decodeSteps = plan.kind === 'decode' && waiting.length > 0 ? decodeSteps + 1 : 0;
          expect(decodeSteps).toBeLessThanOrEqual(options.decodeStepsBetweenPiecesMax);
        });
      }),
    );
  });
});

describe('planStep computes lost rows again', () => {
  it('prompt rows as before, rows of the answer in calls of at most 63 (rule R), and draws no token until all are there', () => {
    const sizes = fc.record({ promptTokens: fc.integer({ min: 1, max: 700 }), replayTokens: fc.integer({ min: 1, max: 400 }) });
    fc.assert(
      fc.property(sizes, (size) => {
        const lost = {
          ...fresh,
          ...size,
          sequence: 0,
          adapterGroup: null,
          admission: 0,
          prefilledTokens: 0,
          replayedTokens: 0,
          answered: true,
        };
        let turn = firstTurn;
        for (let next = 0; lost.prefilledTokens < lost.promptTokens || lost.replayedTokens < lost.replayTokens; ) {
          const plan = planStep({ sequences: [lost], turn, rowsMax, ...unmeasured }, options);
          if (plan.kind !== 'prefill') throw new Error('rows are missing');
          expect(plan.from).toBe(next);
          expect(plan.last).toBe(false);
          next += plan.rows;
          if (plan.from < lost.promptTokens) lost.prefilledTokens += plan.rows;
          else {
            expect(plan.rows).toBeLessThan(64);
            lost.replayedTokens += plan.rows;
          }
          expect(lost.prefilledTokens).toBeLessThanOrEqual(lost.promptTokens);
          turn = turnAfter(turn, plan);
        }
        expect(planStep({ sequences: [lost], turn, rowsMax, ...unmeasured }, options).kind).toBe('decode');
      }),
    );
  });
});

describe('planStep shares the time', () => {
  const decoding = (sequence: number, adapterGroup: string | null = null): SequenceState => {
    return { sequence, adapterGroup, promptTokens: 10, prefilledTokens: 10, ...fresh, admission: sequence };
  };
  const prefilling = (sequence: number, promptTokens: number, prefilledTokens = 0): SequenceState => {
    return { sequence, adapterGroup: null, promptTokens, prefilledTokens, ...fresh, admission: sequence };
  };
  const plans = (sequences: readonly SequenceState[], count: number): BatchPlan[] => {
    let turn = firstTurn;
    return Array.from({ length: count }, () => {
      const plan = planStep({ sequences, turn, rowsMax, ...unmeasured }, options);
      turn = turnAfter(turn, plan);
      return plan;
    });
  };

  it('prefills in large pieces while nobody decodes', () => {
    expect(planStep({ sequences: [prefilling(0, 1000)], turn: firstTurn, rowsMax, ...unmeasured }, options)).toMatchObject({ rows: 256 });
  });

  it('shortens the piece before a remainder below 64, or folds the remainder in', () => {
    const rowsOf = (promptTokens: number, others: readonly SequenceState[]): number => {
      const turn = { ...firstTurn, decodeStepsSincePiece: 9 };
      const plan = planStep({ sequences: [prefilling(0, promptTokens), ...others], turn, rowsMax, ...unmeasured }, options);
      return plan.kind === 'prefill' ? plan.rows : 0;
    };
    expect([63, 64, 256, 257, 300, 320].map((tokens) => rowsOf(tokens, []))).toEqual([63, 64, 256, 193, 236, 256]);
    expect([63, 64, 65, 127, 128, 200].map((tokens) => rowsOf(tokens, [decoding(1)]))).toEqual([63, 64, 65, 127, 64, 64]);
  });

  it('lets others decode 4 steps between two pieces, 2 when more prompts wait than decode', () => {
    const kinds = (sequences: readonly SequenceState[]) =>
      plans(sequences, 10)
        .map(({ kind }) => kind[0])
        .join('');
    expect(kinds([decoding(0), prefilling(1, 1000)])).toBe('pddddpdddd');
    expect(kinds([decoding(0), prefilling(1, 1000), prefilling(2, 1000)])).toBe('pddpddpddp');
  });

  it('fills the batch after one decode step when a burst of prompts ends in a piece each, or at once when they are short', () => {
    let turn = firstTurn;
    const waiting = [prefilling(1, 100), prefilling(2, 50), prefilling(3, 50), prefilling(4, 50)];
    let running: readonly SequenceState[] = [decoding(0), ...waiting];
    const steps: string[] = [];
    for (let step = 0; step < 7; step++) {
      const plan = planStep({ sequences: running, turn, rowsMax, ...unmeasured }, options);
      turn = turnAfter(turn, plan);
      steps.push(plan.kind === 'prefill' ? `p${plan.sequence}` : 'd');
      running = running.map((one) => (plan.kind === 'prefill' && one.sequence === plan.sequence ? decoding(one.sequence) : one));
    }
    expect(steps).toEqual(['p1', 'd', 'p2', 'p3', 'd', 'p4', 'd']);
  });

  it('never puts 128 prompt rows or more between two decode steps of the others', () => {
    fc.assert(
      fc.property(workload, (work) => {
        let rows = 0;
        runAll(work, 8, (plan, running) => {
          const othersDecode = running.some((one) => !isPrefilling(one) && plan.kind !== 'idle' && one.adapterGroup === plan.adapterGroup);
          rows = plan.kind === 'prefill' && othersDecode ? rows + plan.rows : 0;
          expect(rows).toBeLessThan(128);
        });
      }),
    );
  });

  it('gives adapter groups turns of several steps', () => {
    const groups = plans([decoding(0), decoding(1, 'a'), decoding(2)], 24).map((plan) =>
      plan.kind === 'decode' ? plan.sequences.join() : '',
    );
    expect(groups).toEqual([...new Array(8).fill('0,2'), ...new Array(8).fill('1'), ...new Array(8).fill('0,2')]);
  });
});
