import { baseError } from '../base/index.js';
import type { Clock } from '../platform/index.js';

/** A signal that aborts with DEADLINE_EXCEEDED after `deadlineMs` or when `signal` aborts; `cancel` frees its timer. */
export function deadlineSignal(request: { readonly clock: Clock; readonly deadlineMs: number; readonly signal: AbortSignal }): {
  readonly signal: AbortSignal;
  cancel(): void;
} {
  const controller = new AbortController();
  const timer = request.clock.setTimer(request.deadlineMs, () => {
    controller.abort(baseError('DEADLINE_EXCEEDED', `no answer within ${Math.round(request.deadlineMs)} ms`));
  });
  const onAbort = (): void => controller.abort(request.signal.reason);
  if (request.signal.aborted) onAbort();
  else request.signal.addEventListener('abort', onAbort, { once: true });
  return {
    signal: controller.signal,
    cancel: () => {
      timer.cancel();
      request.signal.removeEventListener('abort', onAbort);
    },
  };
}
