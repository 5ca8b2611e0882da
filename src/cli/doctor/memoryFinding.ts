import { describeBytes } from '../../base/index.js';
import type { EngineMemory } from '../../models/index.js';
import type { FreeMemory } from '../../platform/index.js';
import type { Finding } from './Finding.js';

/** A shard process beside its engine; and the store of prefixes of an engine (`inference.kvStoreBytesMax`), which fills later. Measured. */
const shardBytes = 130e6;
const prefixStoreBytes = 268_435_456;

/**
 * Whether the engines of a cluster with the chosen models fit, by the estimate that they are refused by (R18). `engines`: of one shard, its
 * own first, then those of models served beside; weights of a machine are counted once.
 */
export function memoryFinding(given: {
  readonly shards: number;
  readonly engines: readonly EngineMemory[];
  readonly free: FreeMemory;
  readonly totalBytes: number;
  /** A cluster of this data folder has its memory already. */
  readonly isRunning: boolean;
}): Finding {
  const { shards, engines, free, totalBytes, isRunning } = given;
  const check = 'memory';
  const weights = sum(engines, ({ weightsBytes }) => weightsBytes);
  const ofEngine = ({ totalBytes: total, weightsBytes, cellsBytes }: EngineMemory): number =>
    total - weightsBytes + (cellsBytes > 0 ? prefixStoreBytes : 0);
  const eachBytes = sum(engines, ofEngine) + shardBytes;
  const neededBytes = weights + shards * eachBytes;
  const cells = describeBytes(sum(engines, ({ cellsBytes }) => cellsBytes));
  const wanted =
    `${shards} ${shards === 1 ? 'shard wants' : 'shards want'} about ${describeBytes(neededBytes)}: weights ${describeBytes(weights)} once, ` +
    `${describeBytes(eachBytes)} a shard, of it ${cells} of keys and values`;
  const found = `${describeBytes(free.bytes)} free of ${describeBytes(totalBytes)} (${free.bound}); ${wanted}`;
  if (isRunning) return { check, state: 'ok', found: `${found}; the running cluster has its own already`, advice: '' };
  if (neededBytes <= free.bytes) return { check, state: 'ok', found, advice: '' };
  const state = totalBytes < neededBytes ? 'problem' : 'warning';
  return { check, state, found, advice: 'a smaller --model, fewer --shards or --sequences, a shorter --context' };
}

const sum = (engines: readonly EngineMemory[], bytesOf: (engine: EngineMemory) => number): number =>
  engines.reduce((total, engine) => total + bytesOf(engine), 0);
