import type { GenerateRequest } from '../../platform/index.js';
import type { InferenceOptions } from '../options.js';
import { rankOf } from './rankOf.js';

type Priority = GenerateRequest['priority'];

interface RunningRequest {
  readonly priority: Priority;
  readonly admission: number;
  readonly admittedMs: number;
  /** Tokens drawn since the last admission. */
  readonly turnTokens: number;
  /** Rows in its sequence. */
  readonly rows: number;
}

export interface PreemptionState<Request extends RunningRequest> {
  readonly running: readonly Request[];
  /** The request whose turn is next. */
  readonly next: { readonly priority: Priority; readonly waitingSinceMs: number } | undefined;
  readonly hasFreeSequence: boolean;
  readonly freePages: number;
  /** Whether so many rows of a suspended request could be kept, or would have to be computed again. */
  readonly canKeep: (rows: number) => boolean;
  readonly nowMs: number;
}

type PreemptionOptions = Pick<InferenceOptions, 'sequenceTurnMs' | 'sequenceTurnTokensMin' | 'kvHeadroomPages'>;

/**
 * Who gives up its sequence (R19, R20), a pure function: below the headroom of pages the youngest of the lowest priority, but never the
 * only one; where all sequences are taken, the youngest that a higher priority waits behind, or, among equals or lower ones, the one
 * that has held its sequence longest, once it and the waiting one have had `sequenceTurnMs`. So more requests than sequences all go on,
 * and none is moved in vain: for a turn only one leaves that has got on since it came, and whose rows can be kept.
 */
export function choosePreemption<Request extends RunningRequest>(
  state: PreemptionState<Request>,
  options: PreemptionOptions,
): Request | undefined {
  const { running, next, hasFreeSequence, freePages, nowMs } = state;
  if (running.length > 1 && freePages < options.kvHeadroomPages) return youngestOfLowest(running);
  if (next === undefined || hasFreeSequence) return undefined;
  const outranked = running.filter(({ priority }) => rankOf[priority] < rankOf[next.priority]);
  if (outranked.length > 0) return youngestOfLowest(outranked);
  if (nowMs - next.waitingSinceMs < options.sequenceTurnMs) return undefined;
  return running
    .filter((one) => rankOf[one.priority] <= rankOf[next.priority] && hasHadItsTurn(one, state, options))
    .reduce<Request | undefined>((longest, other) => (longest && longest.admission < other.admission ? longest : other), undefined);
}

function hasHadItsTurn<Request extends RunningRequest>(
  { admittedMs, turnTokens, rows }: Request,
  { nowMs, canKeep }: PreemptionState<Request>,
  options: PreemptionOptions,
): boolean {
  return nowMs - admittedMs >= options.sequenceTurnMs && turnTokens >= options.sequenceTurnTokensMin && canKeep(rows);
}

function youngestOfLowest<Request extends RunningRequest>(running: readonly Request[]): Request | undefined {
  const lowest = Math.min(...running.map(({ priority }) => rankOf[priority]));
  return running
    .filter(({ priority }) => rankOf[priority] === lowest)
    .reduce<Request | undefined>((youngest, other) => (youngest && youngest.admission > other.admission ? youngest : other), undefined);
}
