import { z } from 'zod';
import type { JsonValue } from '../../base/index.js';
import type { RpcMethod } from '../../rpc/index.js';
import type { ProgressRegistry } from './ProgressRegistry.js';

const cancel = z.strictObject({ job: z.string().min(1).max(512) });

/** RPC methods of jobs: what this shard is at, and the end of one. `cancel`: false where the shard has no such job, or one that cannot be ended. */
export function jobMethods(parts: { readonly progress: ProgressRegistry; readonly cancel: (job: string) => Promise<boolean> }): {
  readonly [method: string]: RpcMethod;
} {
  return {
    'jobs.list': async function* () {
      yield parts.progress.list() as unknown as JsonValue;
    },
    'jobs.cancel': async function* ({ body }) {
      yield await parts.cancel(cancel.parse(body).job);
    },
  };
}
