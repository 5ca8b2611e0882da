import type { Rounds } from './inference/InferRounds.js';
import type { SequenceContext } from './SequenceContext.js';

/** The context of a part of the query: what it makes and holds is counted by itself. `isBeside`: it runs beside others of the query. */
export function forkContext(
  context: SequenceContext,
  own: { readonly isBeside: boolean; readonly rounds?: Rounds | undefined; readonly signal?: AbortSignal },
): SequenceContext {
  const { rounds = context.rounds, signal = context.signal } = own;
  const memory = context.memory.fork();
  const pacer = context.pacer.fork({ memory, signal, isBeside: own.isBeside });
  const evaluation = {
    ...context.evaluation,
    step: (count: number) => pacer.step(count),
    allocate: (bytes: number) => memory.allocate(bytes),
  };
  return { ...context, memory, pacer, evaluation, signal, ...(rounds && { rounds }) };
}
