import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export interface BenchShard {
  readonly url: string;
  readonly pid: number;
  readonly enginePid: number;
  /** Ends it and removes its data. */
  close(): Promise<void>;
}

/** One shard with its engine as `ostraka up` starts it, on a folder and ports of its own. */
export async function openBenchShard(options: readonly string[] = []): Promise<BenchShard> {
  const folder = mkdtempSync(join(tmpdir(), 'ostraka-bench-'));
  const port = 20_000 + (process.pid % 20_000);
  const args = ['dist/src/cli/main.js', 'up', '--json', '--shards', '1', '--port', String(port), '--data', folder, ...options];
  const up = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => up.once('exit', resolve));
  const close = async (): Promise<void> => {
    up.kill('SIGINT');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  for await (const line of createInterface({ input: up.stdout })) {
    const { shards } = JSON.parse(line) as { readonly shards: readonly [Omit<BenchShard, 'close'>] };
    const [{ url, pid, enginePid }] = shards;
    up.stdout.resume(); // what comes later is of no interest, and must not fill the pipe
    return { url, pid, enginePid, close };
  }
  await close();
  throw new Error('the shard did not start');
}
