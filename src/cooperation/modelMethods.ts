import { AsyncQueue, type JsonValue, toOstrakaError } from '../base/index.js';
import type { Clock, GenerateRequest, ModelService } from '../platform/index.js';
import { deadlineSignal, type RpcMethod } from '../rpc/index.js';
import { collectAnswer } from './collectAnswer.js';
import { localGeneration } from './localGeneration.js';
import type { CooperationOptions } from './options.js';
import type { PrefixFetcher } from './prefix/PrefixFetcher.js';
import { wire } from './wire.js';
import { withHeartbeat } from './withHeartbeat.js';

/** RPC methods of inference: `model.generate` streams one request, `model.generateBatch` answers entries as they finish. */
export function modelMethods(parts: {
  readonly modelService: ModelService;
  readonly prefixes: Pick<PrefixFetcher, 'prepare'>;
  readonly clock: Clock;
  readonly options: CooperationOptions;
}): {
  readonly [method: string]: RpcMethod;
} {
  const { modelService, prefixes, clock, options } = parts;
  const { heartbeatMs, eventsQueuedMax } = options;
  return {
    'model.generate': async function* ({ body, signal }) {
      const generate = wire.generateRequest.parse(body) as GenerateRequest;
      for await (const event of localGeneration({ modelService, prefixes, clock, heartbeatMs, eventsQueuedMax, generate, signal })) {
        yield event as unknown as JsonValue;
      }
    },
    'model.generateBatch': async function* ({ body, signal }) {
      const { entries } = wire.batchRequest.parse(body);
      yield { kind: 'admitted' };
      yield* answers(entries as readonly BatchEntry[], { modelService, prefixes, clock, heartbeatMs, signal });
    },
  };
}

interface BatchEntry {
  readonly index: number;
  readonly request: GenerateRequest;
  readonly timeoutMs?: number;
}

/** All entries at once into the engine, whose scheduler batches them; outcomes in the order they finish, a heartbeat while none does. */
function answers(
  entries: readonly BatchEntry[],
  parts: {
    readonly modelService: ModelService;
    readonly prefixes: Pick<PrefixFetcher, 'prepare'>;
    readonly clock: Clock;
    readonly heartbeatMs: number;
    readonly signal: AbortSignal;
  },
): AsyncGenerator<JsonValue> {
  const { modelService, prefixes, clock, heartbeatMs, signal } = parts;
  const queue = new AsyncQueue<JsonValue>({ itemsMax: entries.length + 1 });
  const outcomeOf = async ({ index, request, timeoutMs }: BatchEntry, workSignal: AbortSignal) => {
    const own = entrySignal(clock, timeoutMs, workSignal);
    try {
      await prefixes.prepare(request, own.signal);
      return { kind: 'answer', index, answer: await collectAnswer(modelService.generate(request, own.signal)) };
    } catch (error) {
      // The engine says in its own words that its caller gave up.
      return { kind: 'error', index, error: toOstrakaError(own.signal.aborted ? own.signal.reason : error).toJson() };
    } finally {
      own.cancel();
    }
  };
  const work = (workSignal: AbortSignal): Promise<unknown> =>
    Promise.all(entries.map(async (entry) => queue.push((await outcomeOf(entry, workSignal)) as unknown as JsonValue)));
  return withHeartbeat<JsonValue>({ clock, heartbeatMs, queue, work, signal, progress: { kind: 'progress' } });
}

/** A signal of its own for each entry: hundreds that listen to one look like a leak to the runtime. Its time ends it alone. */
function entrySignal(clock: Clock, timeoutMs: number | undefined, signal: AbortSignal): { readonly signal: AbortSignal; cancel(): void } {
  if (timeoutMs !== undefined) return deadlineSignal({ clock, deadlineMs: timeoutMs, signal });
  return { signal: AbortSignal.any([signal]), cancel: () => undefined };
}
