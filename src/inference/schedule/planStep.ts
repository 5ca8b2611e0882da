import type { InferenceOptions } from '../options.js';
import { chooseDraftTokens, type DraftState } from '../speculation/chooseDraftTokens.js';
import { choosePieces, type PieceOptions, type PieceSchedule } from './choosePieces.js';
import type { StepCostFigures } from './StepCosts.js';

/** What the planner knows of a running request. */
export interface SequenceState {
  readonly sequence: number;
  /** Key of its adapter, digest and scale; null = base model. */
  readonly adapterGroup: string | null;
  readonly promptTokens: number;
  /** Prompt tokens that are computed; the sequence decodes once all are. */
  readonly prefilledTokens: number;
  /** Tokens of the answer whose rows were lost with a sequence and must be computed again before the next one is drawn; mostly 0. */
  readonly replayTokens: number;
  readonly replayedTokens: number;
  /** The answer has begun: the end of the prompt draws no token. */
  readonly answered: boolean;
  /** Place in the order of admissions. */
  readonly admission: number;
  /** Monotonic milliseconds by which the service level wants the first token. */
  readonly firstTokenDueMs: number;
  /** Somebody reads the tokens as they come. */
  readonly streamed: boolean;
  /** Tokens that are drafted to come next, and the share of drafted ones that is right. */
  readonly draftedTokens: number;
  readonly draftShare: number;
  /** Tokens it may still draw. */
  readonly answerTokensLeft: number;
}

/** Whose turn it is, and for how long. */
export interface SchedulerTurn {
  readonly adapterGroup: string | null;
  /** Steps this adapter group has run in a row. */
  readonly steps: number;
  readonly decodeStepsSincePiece: number;
  /** Prompt rows computed since the last decode step. */
  readonly rowsSinceDecode: number;
  /** The last piece ended its prompt. */
  readonly promptEnded: boolean;
}

/** Before the first step. */
export const firstTurn: SchedulerTurn = { adapterGroup: null, steps: 0, decodeStepsSincePiece: 0, rowsSinceDecode: 0, promptEnded: true };

export interface SchedulerState {
  /** Running requests by ascending sequence id. */
  readonly sequences: readonly SequenceState[];
  readonly turn: SchedulerTurn;
  /** Rows of the largest call; a multiple of 64, at least 128. */
  readonly rowsMax: number;
  /** Of a decode step of the sequences that decode now. */
  readonly costs: StepCostFigures;
  /** What decides about drafts beside the sequences. */
  readonly drafts: Omit<DraftState, 'decoding'>;
  readonly nowMs: number;
}

interface DecodePlan {
  readonly kind: 'decode';
  readonly adapterGroup: string | null;
  readonly sequences: readonly number[];
  readonly draftTokens: number;
}

interface PrefillPlan {
  readonly kind: 'prefill';
  readonly adapterGroup: string | null;
  readonly sequence: number;
  /** First position of the piece. */
  readonly from: number;
  readonly rows: number;
  /** The piece ends the prompt: its last row gives the first token. */
  readonly last: boolean;
}

/**
 * One call of the model: prefill rows of one sequence, or the next row of each decoding sequence of one adapter group, and with it rows of
 * `draftTokens` drafted tokens each. Never both (rule R).
 */
export type BatchPlan = { readonly kind: 'idle' } | PrefillPlan | DecodePlan;

type PlanOptions = PieceOptions & Pick<InferenceOptions, 'adapterTurnStepsMax' | 'draftGainMin'>;

/** Below this number of rows of a sequence in a call, CPU flash attention uses another kernel, with other bits (rule R). */
const pieceRowsMin = 64;

/**
 * Rows of an answer are computed in smaller calls, always: by the kernel that computed them first (rule R). With an adapter one by one, as
 * they were.
 */
const replayRowsMax = { base: 63, adapter: 1 } as const;

const isPrefilling = ({ prefilledTokens, promptTokens, replayTokens, replayedTokens }: SequenceState): boolean =>
  prefilledTokens < promptTokens || replayedTokens < replayTokens;

/**
 * Decides the next call of the model; a pure function. Adapter groups take turns of several steps; within a turn the oldest unfinished
 * prompt gets a piece, then everyone decodes for some steps: for several while a long prompt is computed, so that others keep their pace,
 * for one after a prompt has ended, so that a burst of short prompts soon fills the batch (a step of few rows costs nearly as much as one
 * of many). How large and how many: `choosePieces`. Between two decode steps of the others lie fewer than 64 rows beyond a piece. Prompts
 * are cut by rule R: pieces of at least 64 rows, a prompt below 64 tokens whole, so that the bits do not depend on the cut.
 */
export function planStep(state: SchedulerState, options: PlanOptions): BatchPlan {
  if (state.sequences.length === 0) return { kind: 'idle' };
  const adapterGroup = groupInTurn(state, options);
  const members = state.sequences.filter((sequence) => sequence.adapterGroup === adapterGroup);
  const decoding = members.filter((sequence) => !isPrefilling(sequence));
  const waiting = members.filter(isPrefilling);
  if (waiting.length > 0) {
    const schedule = scheduleOf(waiting, decoding, state, options);
    const piece = planPiece(waiting, schedule, state);
    if (decoding.length === 0 || pieceIsDue(piece.rows, state.turn, schedule)) return piece;
  }
  // Rows of an adapter are computed one by one: verifying several of them gains nothing.
  const draftTokens = adapterGroup === null ? chooseDraftTokens({ decoding, ...state.drafts }, options) : 0;
  return { kind: 'decode', adapterGroup, sequences: decoding.map(({ sequence }) => sequence), draftTokens };
}

/** The turn after a step has run. */
export function turnAfter(turn: SchedulerTurn, plan: BatchPlan): SchedulerTurn {
  if (plan.kind === 'idle') return turn;
  const steps = plan.adapterGroup === turn.adapterGroup ? turn.steps + 1 : 1;
  const { adapterGroup } = plan;
  if (plan.kind === 'decode') {
    return { ...turn, adapterGroup, steps, decodeStepsSincePiece: turn.decodeStepsSincePiece + 1, rowsSinceDecode: 0 };
  }
  return { adapterGroup, steps, decodeStepsSincePiece: 0, rowsSinceDecode: turn.rowsSinceDecode + plan.rows, promptEnded: plan.last };
}

/** The present group goes on until its turn is over and another has work; then the next in the order of keys. */
function groupInTurn({ sequences, turn }: SchedulerState, options: PlanOptions): string | null {
  const keyOf = (group: string | null): string => group ?? '';
  const present = keyOf(turn.adapterGroup);
  const groups = [...new Set(sequences.map(({ adapterGroup }) => keyOf(adapterGroup)))].sort();
  const goesOn = groups.includes(present) && (groups.length === 1 || turn.steps < options.adapterTurnStepsMax);
  const next = goesOn ? present : (groups.find((group) => group > present) ?? groups[0]);
  return next === undefined || next === '' ? null : next;
}

function scheduleOf(
  waiting: readonly SequenceState[],
  decoding: readonly SequenceState[],
  state: SchedulerState,
  options: PlanOptions,
): PieceSchedule {
  const { costs, rowsMax, nowMs } = state;
  const prompts = [...waiting]
    .sort((left, right) => left.admission - right.admission)
    .map(({ promptTokens, prefilledTokens, firstTokenDueMs }) => ({
      rows: promptTokens - prefilledTokens,
      dueInMs: firstTokenDueMs - nowMs,
    }));
  const someoneReads = decoding.some(({ streamed }) => streamed);
  return choosePieces({ waiting: prompts, decoding: decoding.length, someoneReads, costs, rowsMax }, options);
}

function pieceIsDue(rows: number, turn: SchedulerTurn, schedule: PieceSchedule): boolean {
  if (turn.decodeStepsSincePiece === 0) return turn.promptEnded && turn.rowsSinceDecode + rows < schedule.rowsBetween;
  return turn.promptEnded || turn.decodeStepsSincePiece >= schedule.decodeSteps;
}

function planPiece(waiting: readonly SequenceState[], schedule: PieceSchedule, { sequences, rowsMax }: SchedulerState): PrefillPlan {
  const oldest = waiting.reduce((first, other) => (other.admission < first.admission ? other : first));
  const { sequence, adapterGroup, promptTokens, prefilledTokens: from, answered } = oldest;
  if (from === promptTokens) return replayPiece(oldest);
  const someoneDecodes = sequences.some((other) => !isPrefilling(other));
  const rows = pieceRows(promptTokens - from, someoneDecodes ? Math.min(schedule.rows, rowsMax) : rowsMax);
  return { kind: 'prefill', adapterGroup, sequence, from, rows, last: from + rows === promptTokens && !answered };
}

function replayPiece({ sequence, adapterGroup, promptTokens, replayTokens, replayedTokens }: SequenceState): PrefillPlan {
  const rows = Math.min(replayRowsMax[adapterGroup === null ? 'base' : 'adapter'], replayTokens - replayedTokens);
  return { kind: 'prefill', adapterGroup, sequence, from: promptTokens + replayedTokens, rows, last: false };
}

/** Rows of the next piece: at most `target`, never leaving 1…63 rows behind: the piece is shortened, or such a remainder folded in where it would become too short. */
function pieceRows(remaining: number, target: number): number {
  if (remaining <= target || remaining < 2 * pieceRowsMin) return remaining;
  return Math.min(target, remaining - pieceRowsMin);
}
