import type { SimRandom } from '../world/SimRandom.js';
import { type FaultKind, faultKinds } from './FaultKind.js';

/** One fault: when, how long, where (an index of a shard), how bad (0…1). */
export interface PlannedFault {
  readonly kind: FaultKind;
  readonly atMs: number;
  readonly forMs: number;
  readonly shard: number;
  readonly other: number;
  readonly strength: number;
}

const pauseBetweenMs = { min: 300, max: 5_000 } as const;
const durationMs = { min: 100, max: 6_000 } as const;

/** The faults of a run. Each run has about half of the kinds, so that some runs show what others' faults would hide. */
export function planFaults(request: {
  readonly random: SimRandom;
  readonly shardCount: number;
  readonly fromMs: number;
  readonly toMs: number;
}): readonly PlannedFault[] {
  const { random, shardCount, fromMs, toMs } = request;
  const kinds = faultKinds.filter(() => random.chance(0.5));
  const faults: PlannedFault[] = [];
  if (kinds.length === 0) return faults;
  for (let atMs = fromMs; atMs < toMs; atMs += random.between(pauseBetweenMs.min, pauseBetweenMs.max)) {
    const shard = random.below(shardCount);
    faults.push({
      kind: random.pick(kinds),
      atMs,
      forMs: Math.min(random.between(durationMs.min, durationMs.max), toMs - atMs),
      shard,
      other: (shard + 1 + random.below(shardCount - 1)) % shardCount,
      strength: random.next(),
    });
  }
  return faults;
}
