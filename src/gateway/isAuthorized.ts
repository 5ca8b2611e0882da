import { sha256Hex } from '../base/index.js';
import type { HttpRequest } from '../platform/index.js';
import { presentedKeys } from './presentedKeys.js';

/**
 * Whether a request may pass: no key configured (loopback only), the liveness probe, or the key as bearer token, as basic password or in
 * `x-api-key`.
 */
export function isAuthorized(request: Pick<HttpRequest, 'headers'>, apiKey: string | undefined, pattern: string): boolean {
  if (apiKey === undefined || pattern === '/health/live') return true;
  // Digests of equal length are compared: the time says nothing of the key.
  return presentedKeys(request).some((key) => sha256Hex(key) === sha256Hex(apiKey));
}
