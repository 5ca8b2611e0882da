import { z } from 'zod';
import { AsyncQueue, type JsonValue } from '../../base/index.js';
import { withHeartbeat } from '../../cooperation/index.js';
import type { Clock } from '../../platform/index.js';
import type { RpcMethod } from '../../rpc/index.js';
import type { ShardingManager } from '../../sharding/index.js';
import type { EmbedAnswerFrame } from './EmbedAnswerFrame.js';
import type { EmbedJobs } from './EmbedJobs.js';
import { embedTaskWire } from './EmbedTask.js';

const wire = z.strictObject({ epoch: z.int(), background: z.boolean(), task: embedTaskWire });

/** The RPC method `execution.embedRows`: a statement LLM EMBED … FOR over the rows of this shard. */
export function embedMethods(parts: {
  readonly jobs: EmbedJobs;
  readonly sharding: ShardingManager;
  readonly clock: Clock;
  readonly heartbeatMs: number;
}): { readonly [method: string]: RpcMethod } {
  const { jobs, sharding, clock, heartbeatMs } = parts;
  return {
    'execution.embedRows': async function* ({ body, signal }) {
      const { epoch, background, task } = wire.parse(body);
      sharding.checkEpoch(epoch);
      const queue = new AsyncQueue<JsonValue>({ itemsMax: 4 });
      const work = async (own: AbortSignal): Promise<void> => {
        if (background) await jobs.keep(task);
        const end: EmbedAnswerFrame = background ? { kind: 'noted' } : { kind: 'done', outcome: await jobs.run(task, own) };
        queue.push(end as unknown as JsonValue);
      };
      yield* withHeartbeat<JsonValue>({ clock, heartbeatMs, queue, work, signal, progress: { kind: 'alive' } });
    },
  };
}
