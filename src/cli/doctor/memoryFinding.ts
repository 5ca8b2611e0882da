import { describeBytes } from '../../base/index.js';
import { type EngineMemory, planMachineMemory } from '../../models/index.js';
import type { FreeMemory } from '../../platform/index.js';
import type { Finding } from './Finding.js';

/**
 * Whether the engines of a cluster with the chosen models fit, by the sum that `up` refuses them by (R18), and what it would promise each
 * shard. `engines`: of one shard, its own first, then those of models served beside, of which it may have one at a time.
 */
export function memoryFinding(given: {
  readonly shards: number;
  readonly engines: readonly [EngineMemory, ...EngineMemory[]];
  readonly free: FreeMemory;
  /** A cluster of this data folder has its memory already. */
  readonly isRunning: boolean;
}): Finding {
  const { shards, engines, free, isRunning } = given;
  const check = 'memory';
  const [own, ...served] = engines;
  const of = (freeBytes: number) => planMachineMemory({ shards, own, freeBytes });
  const { neededBytes, weightsBytes, eachBytes, budgetBytes } = of(free.bytes);
  const largestBytes = Math.max(0, ...served.map(({ totalBytes }) => totalBytes));
  const wanted =
    `${shards} ${shards === 1 ? 'shard wants' : 'shards want'} about ${describeBytes(neededBytes)}: weights ${describeBytes(weightsBytes)} once, ` +
    `${describeBytes(eachBytes)} a shard, of it ${describeBytes(own.cellsBytes)} of keys and values`;
  const beside = served.length === 0 ? '' : `; ${servedText(served, budgetBytes - own.totalBytes)}`;
  const found = `${describeBytes(free.bytes)} free of ${describeBytes(free.totalBytes)} (${free.bound}); ${wanted}${beside}`;
  if (isRunning) return { check, state: 'ok', found: `${found}; the running cluster has its own already`, advice: '' };
  const fits = (freeBytes: number): boolean => {
    const plan = of(freeBytes);
    return plan.neededBytes <= freeBytes && own.totalBytes + largestBytes <= plan.budgetBytes;
  };
  if (fits(free.bytes)) return { check, state: 'ok', found, advice: '' };
  const state = fits(free.totalBytes) ? 'warning' : 'problem';
  return { check, state, found, advice: 'a smaller --model, fewer --shards or --sequences, a shorter --context or --embedding-context' };
}

const servedText = (served: readonly EngineMemory[], roomBytes: number): string => {
  const all = served.reduce((total, { totalBytes }) => total + totalBytes, 0);
  const room = describeBytes(Math.max(0, roomBytes));
  const turns = all > roomBytes ? '; they take turns' : '';
  return `models served beside want ${describeBytes(all)} a shard in all, a shard has ${room} for them${turns}`;
};
