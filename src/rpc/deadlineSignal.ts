import { baseError, onAbort } from '../base/index.js';
import type { Clock } from '../platform/index.js';

/**
 * A signal that aborts with DEADLINE_EXCEEDED after `deadlineMs`, when `signal` aborts, or by `abort`; `cancel` frees its timer and its
 * listener. One signal for the three: calls are many, and a signal costs more than the rest of a call to oneself.
 */
export function deadlineSignal(request: { readonly clock: Clock; readonly deadlineMs: number; readonly signal: AbortSignal }): {
  readonly signal: AbortSignal;
  abort(reason: unknown): void;
  cancel(): void;
} {
  const controller = new AbortController();
  const timer = request.clock.setTimer(request.deadlineMs, () => {
    controller.abort(baseError('DEADLINE_EXCEEDED', `no answer within ${Math.round(request.deadlineMs)} ms`));
  });
  const forget = onAbort(request.signal, () => controller.abort(request.signal.reason));
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    cancel: () => {
      timer.cancel();
      forget();
    },
  };
}
