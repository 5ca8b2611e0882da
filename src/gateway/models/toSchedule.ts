import { z } from 'zod';
import { sha256Hex } from '../../base/index.js';
import type { ClusterRequest } from '../../cooperation/index.js';
import type { HttpRequest } from '../../platform/index.js';
import { checkBody } from '../checkBody.js';
import { presentedKeys } from '../presentedKeys.js';

const ownerCharacters = 16;

/**
 * When a request is served (R19): its priority by the header x-ostraka-priority, its time by x-ostraka-timeout-ms (at most the gateway's
 * own), and whose it is by the key it shows, of which only a digest goes on. Errors: PARAMETER_BAD for a header that is neither.
 */
export function toSchedule(
  request: Pick<HttpRequest, 'headers'>,
  given: { readonly streamed: boolean; readonly timeoutMs: number },
): Pick<ClusterRequest, 'priority' | 'owner' | 'streamed' | 'timeoutMs'> {
  const headers = checkBody(
    z.looseObject({
      'x-ostraka-priority': z.enum(['low', 'normal', 'high', 'critical']).default('normal'),
      'x-ostraka-timeout-ms': z.coerce.number().int().min(1).max(given.timeoutMs).default(given.timeoutMs),
    }),
    request.headers,
  );
  const [key] = presentedKeys(request);
  return {
    priority: headers['x-ostraka-priority'],
    timeoutMs: headers['x-ostraka-timeout-ms'],
    streamed: given.streamed,
    ...(key !== undefined && { owner: sha256Hex(key).slice(0, ownerCharacters) }),
  };
}
