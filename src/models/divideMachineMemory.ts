import { describeBytes, type OstrakaError } from '../base/index.js';
import { type FreeMemory, platformError } from '../platform/index.js';
import type { EngineMemory } from './estimateEngineMemory.js';
import { planMachineMemory } from './planMachineMemory.js';

export interface ShardModels {
  readonly shards: number;
  /** An engine of the shards' own models. */
  readonly own: EngineMemory;
  /** Engines of those served beside them; a shard may have one of them at a time. */
  readonly served: readonly { readonly name: string; readonly memory: EngineMemory }[];
  /** Asked for; undefined = a share of what is free. */
  readonly budgetBytes: number | undefined;
}

/**
 * The memory budget of each shard of a machine (R18). Refused where the own engines of all shards do not fit, where budgets that were asked
 * for promise more than is free, and where a served model would not fit into a budget even alone.
 * Errors: MODEL_TOO_LARGE (data: neededBytes, freeBytes, promisedBytes, totalBytes).
 */
export function divideMachineMemory(models: ShardModels, free: FreeMemory): number {
  const { shards, own, served } = models;
  const plan = planMachineMemory({ shards, own, freeBytes: free.bytes });
  const { weightsBytes, eachBytes, neededBytes } = plan;
  const refuse = refusal(free);
  const cells = `${describeBytes(own.cellsBytes)} of keys and values`;
  const parts = `weights ${describeBytes(weightsBytes)} once, ${describeBytes(eachBytes)} a shard, of it ${cells}`;
  if (neededBytes > free.bytes)
    throw refuse(`${shardsOf(shards)} about ${describeBytes(neededBytes)} (${parts}); `, { neededBytes, promisedBytes: 0 });
  const budgetBytes = models.budgetBytes ?? plan.budgetBytes;
  const promisedBytes = free.bytes + shards * (budgetBytes - plan.budgetBytes);
  if (promisedBytes > free.bytes) {
    const most = `at most ${describeBytes(plan.budgetBytes)} each`;
    throw refuse(`--memory-budget promises ${shardsOf(shards, '')} ${describeBytes(promisedBytes)} in all, ${most} would do; `, {
      neededBytes,
      promisedBytes,
    });
  }
  const each = `each shard is promised ${describeBytes(budgetBytes)}, of which its own models take ${describeBytes(own.totalBytes)}`;
  const data = (memory: EngineMemory) => ({ neededBytes: memory.totalBytes, promisedBytes: shards * budgetBytes });
  if (own.totalBytes > budgetBytes) throw refuse(`${each}; `, data(own));
  for (const { name, memory } of served)
    if (memory.totalBytes > budgetBytes - own.totalBytes)
      throw refuse(`model ${name} needs about ${describeBytes(memory.totalBytes)}; ${each}; `, data(memory));
  return budgetBytes;
}

const shardsOf = (shards: number, verb = shards === 1 ? ' needs' : ' need'): string =>
  `${shards} ${shards === 1 ? 'shard' : 'shards'}${verb}`;

const advice =
  'take a smaller model, fewer --shards or --sequences, a shorter --context or --embedding-context; --no-memory-check starts all the same';

const refusal =
  (free: FreeMemory) =>
  (what: string, data: { readonly neededBytes: number; readonly promisedBytes: number }): OstrakaError =>
    platformError(
      'MODEL_TOO_LARGE',
      `${what}${free.bound} has ${describeBytes(free.bytes)} free of ${describeBytes(free.totalBytes)}: ${advice}`,
      { data: { ...data, freeBytes: free.bytes, totalBytes: free.totalBytes } },
    );
