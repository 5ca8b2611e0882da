import type { InferenceOptions } from '../options.js';
import type { StepCostFigures } from './StepCosts.js';

/** How a prompt is computed while others decode. */
export interface PieceSchedule {
  /** Rows of a piece: a multiple of 64. */
  readonly rows: number;
  /** Decode steps after each piece. */
  readonly decodeSteps: number;
  /** Between two decode steps lie fewer rows than this, where several prompts end one after the other. */
  readonly rowsBetween: number;
}

/** A prompt that waits for its rows. */
export interface WaitingPrompt {
  readonly rows: number;
  /** Milliseconds from now in which the service level wants its first token; negative when that time is over. */
  readonly dueInMs: number;
}

export interface PieceState {
  /** In the order in which they are computed. */
  readonly waiting: readonly WaitingPrompt[];
  readonly decoding: number;
  /** Somebody reads the tokens of one that decodes. */
  readonly someoneReads: boolean;
  readonly costs: StepCostFigures;
  readonly rowsMax: number;
}

export type PieceOptions = Pick<
  InferenceOptions,
  | 'pieceRowsUnderLoad'
  | 'pieceRowsUnderLoadMax'
  | 'decodeStepsBetweenPiecesMin'
  | 'decodeStepsBetweenPiecesMax'
  | 'serviceInterTokenMs'
  | 'serviceAimShare'
  | 'serviceWholeAnswerMs'
>;

const pieceRowsStep = 64;

/**
 * Chooses piece size and decode steps between pieces by the stated service level and what steps cost here (R19); a pure function. Among
 * the schedules whose longest wait between two tokens keeps the level, the one that leaves most time to the decoding requests while every
 * waiting prompt has its first token in time; if none does, the one that ends the prompts soonest. Answers that nobody reads before they
 * are whole stand still for the prompts of a burst, within a level of their own: all are done sooner when they decode together. Before
 * anything is measured: the smallest pieces, with few decode steps when more prompts wait than decode.
 */
export function choosePieces(state: PieceState, options: PieceOptions): PieceSchedule {
  const { prefillRowMs, decodeStepMs } = state.costs;
  if (prefillRowMs === undefined || decodeStepMs === undefined) return unmeasured(state, options);
  if (!state.someoneReads) return together(prefillRowMs, state.rowsMax, options);
  const costs = { prefillRowMs, decodeStepMs };
  const aimMs = options.serviceInterTokenMs * options.serviceAimShare;
  const schedules = candidates(state.rowsMax, options).filter(
    ({ rows }) => rows === options.pieceRowsUnderLoad || rows * prefillRowMs + decodeStepMs <= aimMs,
  );
  const gentle = [...schedules].sort((left, right) => decodeShare(right, costs) - decodeShare(left, costs));
  return gentle.find((schedule) => isInTime(state.waiting, schedule, costs)) ?? (gentle.at(-1) as PieceSchedule);
}

type Costs = { readonly [name in keyof StepCostFigures]-?: number };

const unmeasured = ({ waiting, decoding }: PieceState, options: PieceOptions): PieceSchedule => ({
  rows: options.pieceRowsUnderLoad,
  decodeSteps: waiting.length > decoding ? options.decodeStepsBetweenPiecesMin : options.decodeStepsBetweenPiecesMax,
  rowsBetween: options.pieceRowsUnderLoad + pieceRowsStep,
});

/** Pieces as long as the level allows, and one decode step between them. */
function together(prefillRowMs: number, rowsMax: number, { serviceWholeAnswerMs, pieceRowsUnderLoad }: PieceOptions): PieceSchedule {
  const rowsBetween = Math.max(pieceRowsUnderLoad, Math.floor(serviceWholeAnswerMs / prefillRowMs));
  const rows = Math.max(pieceRowsUnderLoad, Math.floor(Math.min(rowsMax, rowsBetween) / pieceRowsStep) * pieceRowsStep);
  return { rows, decodeSteps: 1, rowsBetween: Math.max(rowsBetween, rows + 1) };
}

function candidates(rowsMax: number, options: PieceOptions): readonly PieceSchedule[] {
  const { pieceRowsUnderLoad: smallest, decodeStepsBetweenPiecesMin: fewest, decodeStepsBetweenPiecesMax: most } = options;
  const largest = Math.max(smallest, Math.min(options.pieceRowsUnderLoadMax, rowsMax - pieceRowsStep));
  const sizes = Array.from({ length: (largest - smallest) / pieceRowsStep + 1 }, (_, index) => smallest + index * pieceRowsStep);
  const steps = Array.from({ length: Math.max(0, most - fewest) + 1 }, (_, index) => fewest + index);
  return sizes.flatMap((rows) => steps.map((decodeSteps) => ({ rows, decodeSteps, rowsBetween: rows + pieceRowsStep })));
}

/** Share of the time in which others decode. */
const decodeShare = ({ rows, decodeSteps }: PieceSchedule, { prefillRowMs, decodeStepMs }: Costs): number =>
  (decodeSteps * decodeStepMs) / (decodeSteps * decodeStepMs + rows * prefillRowMs);

function isInTime(waiting: readonly WaitingPrompt[], { rows, decodeSteps }: PieceSchedule, { prefillRowMs, decodeStepMs }: Costs): boolean {
  let elapsedMs = 0;
  return waiting.every((prompt) => {
    const pieces = Math.ceil(prompt.rows / rows);
    elapsedMs += prompt.rows * prefillRowMs + (pieces - 1) * decodeSteps * decodeStepMs;
    const inTime = elapsedMs <= prompt.dueInMs;
    elapsedMs += decodeStepMs;
    return inTime;
  });
}
