import type { MachineShare } from '../../models/index.js';

/** The memory budget of each shard of an `up`, and what it is a share of. */
export interface ShardMemory {
  readonly memoryBudgetBytes: number;
  readonly machineShare: MachineShare;
}
