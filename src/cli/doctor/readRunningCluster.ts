import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type FolderLock, isLockHeld } from '../FolderLock.js';
import type { StartConfigInput } from '../StartConfig.js';

/** The cluster that runs on a data folder now. */
export interface RunningCluster {
  readonly pid: number;
  /** HTTP and RPC of its shards. */
  readonly ports: readonly number[];
}

/** By the lock of the folder, whose holder must live, and by what `up` wrote for its shards; undefined when none runs. */
export async function readRunningCluster(folder: string): Promise<RunningCluster | undefined> {
  const lock = await readJson<FolderLock>(join(folder, 'ostraka.lock'));
  if (lock === undefined || !isLockHeld(lock)) return undefined;
  const shards = await readdir(join(folder, 'shards')).catch(() => []);
  const configs = await Promise.all(shards.map((shard) => readJson<StartConfigInput>(join(folder, 'shards', shard, 'shard.json'))));
  const ports = configs.flatMap((config) => [config?.shard.process.httpPort, config?.shard.process.rpcPort]);
  return { pid: lock.pid, ports: ports.filter((port) => port !== undefined) };
}

// A cluster that is just starting or ending has half of its files; those that cannot be read tell nothing.
const readJson = async <Value>(path: string): Promise<Value | undefined> => {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Value;
  } catch {
    return undefined;
  }
};
