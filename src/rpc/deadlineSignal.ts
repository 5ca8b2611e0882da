import { baseError, onAbort } from '../base/index.js';
import type { Clock } from '../platform/index.js';

/** A signal that aborts with DEADLINE_EXCEEDED after `deadlineMs` or when `signal` aborts; `cancel` frees its timer and its listener. */
export function deadlineSignal(request: { readonly clock: Clock; readonly deadlineMs: number; readonly signal: AbortSignal }): {
  readonly signal: AbortSignal;
  cancel(): void;
} {
  const controller = new AbortController();
  const timer = request.clock.setTimer(request.deadlineMs, () => {
    controller.abort(baseError('DEADLINE_EXCEEDED', `no answer within ${Math.round(request.deadlineMs)} ms`));
  });
  const forget = onAbort(request.signal, () => controller.abort(request.signal.reason));
  return {
    signal: controller.signal,
    cancel: () => {
      timer.cancel();
      forget();
    },
  };
}
