// Claim: a shard without its engine takes at most 200 MB of memory, and what a user installs to run it at most 120 MB of disk. One shard is
// started as `up` does and read when it is ready and quiet; the dependencies are installed as a user does (`npm ci --omit=dev`).
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BenchResult } from './BenchResult.js';
import { measured } from './measured.js';
import { openBenchShard } from './openBenchShard.js';

const limits = { shardMegabytes: 200, dependenciesMegabytes: 120 } as const;

export async function footprintBench(options: { readonly quick: boolean }): Promise<BenchResult[]> {
  const runs = options.quick ? 1 : 3;
  const shard: number[] = [];
  for (let run = 0; run < runs; run++) shard.push(await shardMegabytes());
  return [
    measured({
      name: 'shard process without its engine',
      metric: 'resident memory',
      unit: 'MB',
      values: shard,
      against: `the limit of ${limits.shardMegabytes} MB`,
      ratioOf: (median) => median / limits.shardMegabytes,
    }),
    measured({
      name: 'run-time dependencies',
      metric: 'installed size',
      unit: 'MB',
      values: [dependenciesMegabytes()],
      against: `the limit of ${limits.dependenciesMegabytes} MB`,
      ratioOf: (median) => median / limits.dependenciesMegabytes,
    }),
  ];
}

async function shardMegabytes(): Promise<number> {
  const shard = await openBenchShard();
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${shard.pid}/status`, 'utf8'))?.[1]) / 1000;
  } finally {
    await shard.close();
  }
}

function dependenciesMegabytes(): number {
  const folder = mkdtempSync(join(tmpdir(), 'ostraka-bench-'));
  try {
    for (const file of ['package.json', 'package-lock.json']) cpSync(file, join(folder, file));
    execFileSync('npm', ['ci', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder, stdio: 'ignore' });
    const files = readdirSync(join(folder, 'node_modules'), { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    return files.reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0) / 1e6;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
