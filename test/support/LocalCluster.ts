import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { freePortBlock } from './freePortBlock.js';

export interface ClusterShard {
  readonly id: string;
  readonly url: string;
  readonly rpcPort: number;
  readonly pid: number;
  readonly enginePid: number;
}

type ClusterEvent = { readonly event: string; readonly id?: string } & Partial<ClusterShard>;

/** A cluster of real processes, started as a user starts it. Ends what it started, by process id. */
export class LocalCluster {
  readonly dataFolder: string;
  readonly port: number;
  readonly readyMs: number;
  shards: readonly ClusterShard[];
  readonly events: ClusterEvent[] = [];
  readonly stderr: readonly string[];
  readonly #process: ChildProcess;

  private constructor(parts: {
    dataFolder: string;
    port: number;
    process: ChildProcess;
    shards: readonly ClusterShard[];
    readyMs: number;
    stderr: readonly string[];
  }) {
    this.dataFolder = parts.dataFolder;
    this.port = parts.port;
    this.#process = parts.process;
    this.shards = parts.shards;
    this.readyMs = parts.readyMs;
    this.stderr = parts.stderr;
  }

  static async start(options: {
    readonly shards?: number;
    readonly args?: readonly string[];
    readonly dataFolder?: string;
    readonly port?: number;
    readonly environment?: { readonly [name: string]: string };
  }): Promise<LocalCluster> {
    const shards = options.shards ?? 3;
    const port = options.port ?? (await freePortBlock(shards));
    const dataFolder = options.dataFolder ?? (await mkdtemp(join(tmpdir(), 'ostraka-cluster-')));
    const startedMs = performance.now();
    const child = spawn(
      process.execPath,
      [
        'dist/src/cli/main.js',
        'up',
        '--json',
        '--shards',
        String(shards),
        '--port',
        String(port),
        '--data',
        dataFolder,
        ...(options.args ?? []),
      ],
      { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...options.environment } },
    );
    const stderr: string[] = [];
    child.stderr.setEncoding('utf8').on('data', (text: string) => stderr.push(text));
    const lines = createInterface({ input: child.stdout });
    return new Promise((resolve, reject) => {
      let cluster: LocalCluster | undefined;
      lines.on('line', (line) => {
        const message = JSON.parse(line) as ClusterEvent & { readonly ready?: boolean; readonly shards?: readonly ClusterShard[] };
        if (message.ready) {
          cluster = new LocalCluster({
            dataFolder,
            port,
            process: child,
            shards: message.shards ?? [],
            readyMs: performance.now() - startedMs,
            stderr,
          });
          resolve(cluster);
        } else cluster?.events.push(message);
      });
      child.once('exit', (code) => {
        if (!cluster) reject(new Error(`up ended with code ${code}: ${stderr.join('')}`));
      });
    });
  }

  /** Every process of the cluster, engines included, by asking the shards now. */
  async pids(): Promise<readonly number[]> {
    const latest = new Map(this.shards.map((shard) => [shard.id, shard] as const));
    for (const event of this.events) if (event.event === 'shard-ready' && event.id) latest.set(event.id, event as ClusterShard);
    return [this.#process.pid ?? 0, ...[...latest.values()].flatMap(({ pid, enginePid }) => [pid, enginePid])];
  }

  /** Waits until `condition` holds, looking again every 50 ms. */
  static async until<Value>(condition: () => Promise<Value | undefined> | Value | undefined, limitMs: number): Promise<Value> {
    const endMs = performance.now() + limitMs;
    while (performance.now() < endMs) {
      const value = await condition();
      if (value !== undefined) return value;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error(`not so within ${limitMs} ms`);
  }

  /** Ctrl-C; returns how long it took until the process was gone. */
  async interrupt(): Promise<number> {
    const startedMs = performance.now();
    if (this.#process.exitCode !== null) return 0;
    const gone = new Promise<void>((resolve) => this.#process.once('exit', () => resolve()));
    this.#process.kill('SIGINT');
    await gone;
    return performance.now() - startedMs;
  }

  async stop(): Promise<void> {
    await this.interrupt();
    await rm(this.dataFolder, { recursive: true, force: true });
  }
}
