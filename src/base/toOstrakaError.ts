import { baseError } from './errors.js';
import { OstrakaError } from './OstrakaError.js';

/** Wraps whatever was thrown, once, at a border. An OstrakaError passes unchanged; an abort without a typed reason becomes CANCELLED; anything else INTERNAL with its cause. */
export function toOstrakaError(thrown: unknown): OstrakaError {
  if (thrown instanceof OstrakaError) return thrown;
  if (thrown instanceof Error && thrown.name === 'AbortError')
    return baseError('CANCELLED', 'the request was cancelled', { cause: thrown });
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  return baseError('INTERNAL', `unexpected error: ${text}`, { cause: thrown });
}
