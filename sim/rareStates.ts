import { faultKinds } from './faults/FaultKind.js';

/**
 * States that prove that a run of many seeds tests what it should: every fault, and what only faults bring about. At least one of the
 * seeds must reach each; one that none reaches any more is a test that has quietly gone.
 */
export const rareStates: readonly string[] = [
  ...faultKinds.map((kind) => `fault ${kind}`),
  'answer BREAKER_OPEN',
  'answer METADATA_UNAVAILABLE',
  'answer SHARD_UNAVAILABLE',
  'answer STORE_FULL',
  'answer TRANSACTION_IN_DOUBT',
  'answer TRANSACTION_OUTCOME_UNKNOWN',
  'answer WRITE_CONFLICT',
  'call arrives twice',
  'collection dropped',
  'collection made again',
  'crash keeps an unsynced commit',
  'crash loses an unsynced commit',
  'crash of a shard that is in doubt',
  'cursor given up',
  'cursor lost in the middle',
  'cursor of several batches',
  'list transaction none',
  'list transaction unknown',
  'log breaker.opened',
  'log engine.hung',
  'log engine.lost',
  'log inference.retry',
  'log prefix.moved',
  'log prefix.not_moved',
  'log membership.lease_not_renewed',
  'log scatter.retry',
  'log transaction.decision_kept',
  'log transaction.resolved',
  'log transaction.untold',
  'rows embedded where others were current',
  'server waits for a slow reader',
  'stop in order',
  'texts embedded',
];
