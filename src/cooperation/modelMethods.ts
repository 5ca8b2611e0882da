import { AsyncQueue, type JsonValue, toOstrakaError } from '../base/index.js';
import type { Clock, GenerateRequest, ModelService, Timer } from '../platform/index.js';
import type { RpcMethod } from '../rpc/index.js';
import { collectAnswer } from './collectAnswer.js';
import { localGeneration } from './localGeneration.js';
import type { CooperationOptions } from './options.js';
import { wire } from './wire.js';

/** RPC methods of inference: `model.generate` streams one request, `model.generateBatch` answers entries as they finish. */
export function modelMethods(parts: { readonly modelService: ModelService; readonly clock: Clock; readonly options: CooperationOptions }): {
  readonly [method: string]: RpcMethod;
} {
  const { modelService, clock, options } = parts;
  const { heartbeatMs, eventsQueuedMax } = options;
  return {
    'model.generate': async function* ({ body, signal }) {
      const generate = wire.generateRequest.parse(body) as GenerateRequest;
      for await (const event of localGeneration({ modelService, clock, heartbeatMs, eventsQueuedMax, generate, signal })) {
        yield event as unknown as JsonValue;
      }
    },
    'model.generateBatch': async function* ({ body, signal }) {
      const { entries } = wire.batchRequest.parse(body);
      yield { kind: 'admitted' };
      yield* answers(entries as readonly BatchEntry[], { modelService, clock, heartbeatMs, signal });
    },
  };
}

interface BatchEntry {
  readonly index: number;
  readonly request: GenerateRequest;
}

/** All entries at once into the engine, whose scheduler batches them; outcomes in the order they finish, a heartbeat while none does. */
async function* answers(
  entries: readonly BatchEntry[],
  parts: { readonly modelService: ModelService; readonly clock: Clock; readonly heartbeatMs: number; readonly signal: AbortSignal },
): AsyncGenerator<JsonValue, void, void> {
  const stopped = new AbortController();
  const signal = AbortSignal.any([parts.signal, stopped.signal]);
  const queue = new AsyncQueue<JsonValue>({ itemsMax: entries.length + 1 });
  let heartbeat: Timer | undefined;
  const beat = (): void => {
    heartbeat = parts.clock.setTimer(parts.heartbeatMs, () => {
      if (queue.length === 0) queue.push({ kind: 'progress' });
      beat();
    });
  };
  const answer = async ({ index, request }: BatchEntry): Promise<void> => {
    try {
      queue.push({
        kind: 'answer',
        index,
        answer: (await collectAnswer(parts.modelService.generate(request, signal))) as unknown as JsonValue,
      });
    } catch (error) {
      queue.push({ kind: 'error', index, error: toOstrakaError(error).toJson() as unknown as JsonValue });
    }
  };
  beat();
  Promise.all(entries.map(answer)).then(
    () => queue.close(),
    (error: unknown) => queue.fail(error),
  );
  try {
    yield* queue;
  } finally {
    heartbeat?.cancel();
    stopped.abort(parts.signal.reason);
  }
}
