import { baseError } from './errors.js';
import { OstrakaError } from './OstrakaError.js';

/** The typed error for an aborted signal: its reason where that is one of ours (a deadline, a full queue), else CANCELLED. */
export function toAbortError(signal: AbortSignal): OstrakaError {
  if (signal.reason instanceof OstrakaError) return signal.reason;
  return baseError('CANCELLED', 'the request was cancelled', { cause: signal.reason });
}
