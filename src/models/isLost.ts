import { OstrakaError } from '../base/index.js';

/** The engine is gone that should have answered. */
export function isLost(error: unknown): error is OstrakaError {
  return error instanceof OstrakaError && error.code === 'ENGINE_LOST';
}
