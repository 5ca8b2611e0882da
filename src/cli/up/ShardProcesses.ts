import { type ChildProcess, fork } from 'node:child_process';
import { OstrakaError } from '../../base/index.js';
import { cliError } from '../errors.js';
import type { ShardMessage } from '../shardMessages.js';
import type { PreparedShard } from './prepareShards.js';
import type { ShardProcessOptions } from './shardProcessOptions.js';

export type ReadyShard = Extract<ShardMessage, { readonly kind: 'ready' }> & { readonly pid: number };

export type ShardEvent =
  | { readonly kind: 'shard-ready'; readonly shard: ReadyShard }
  | { readonly kind: 'shard-lost'; readonly shardId: string; readonly reason: string }
  | { readonly kind: 'shard-failed'; readonly shardId: string; readonly reason: string };

interface Running {
  readonly prepared: PreparedShard;
  child: ChildProcess | undefined;
  restarts: number;
  startedAtMs: number;
  timer: NodeJS.Timeout | undefined;
}

export interface ShardProcessesParts {
  readonly options: ShardProcessOptions;
  /** The compiled entry of the program, which every shard runs. */
  readonly mainPath: string;
  readonly onEvent: (event: ShardEvent) => void;
}

/** The shard processes of one `up`: starts them, starts one that dies or hangs again (with growing waits), ends them all. */
export class ShardProcesses {
  readonly #running: Running[] = [];
  readonly #parts: ShardProcessesParts;
  #isStopping = false;

  constructor(parts: ShardProcessesParts) {
    this.#parts = parts;
  }

  /** Resolves when every shard is ready; rejects with the first failure of the first start. */
  start(shards: readonly PreparedShard[]): Promise<readonly ReadyShard[]> {
    return Promise.all(
      shards.map((prepared) => {
        const running: Running = { prepared, child: undefined, restarts: 0, startedAtMs: 0, timer: undefined };
        this.#running.push(running);
        return new Promise<ReadyShard>((resolve, reject) => this.#spawn(running, { resolve, reject }));
      }),
    );
  }

  /** Asks all to stop, kills what is left after `stopMsMax`; resolves when every process is gone. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all(this.#running.map((running) => stopOne(running, this.#parts.options.stopMsMax)));
  }

  #spawn(running: Running, first?: { readonly resolve: (ready: ReadyShard) => void; readonly reject: (error: unknown) => void }): void {
    const { shardId, configFile, logFile } = running.prepared;
    const child = fork(this.#parts.mainPath, ['start', '--config', configFile], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      execArgv: [],
    });
    running.child = child;
    running.startedAtMs = performance.now();
    let failure: OstrakaError | undefined;
    let isReady = false;
    const startTimer = setTimeout(() => child.kill('SIGKILL'), this.#parts.options.startMsMax);
    child.on('message', (raw) => {
      const message = raw as ShardMessage;
      if (message.kind === 'failed') failure = new OstrakaError(message.error);
      if (message.kind !== 'ready') return;
      isReady = true;
      clearTimeout(startTimer);
      const ready = { ...message, pid: child.pid ?? 0 };
      first?.resolve(ready);
      this.#parts.onEvent({ kind: 'shard-ready', shard: ready });
      watch(child, ready.httpUrl, this.#parts.options);
    });
    child.on('exit', (code, signal) => {
      running.child = undefined;
      clearTimeout(startTimer);
      const reason = failure?.message ?? `ended with ${signal ?? `code ${code}`}; its log: ${logFile}`;
      if (!isReady) first?.reject(failure ?? cliError('SHARD_START_FAILED', `${shardId} ${reason}`));
      if (this.#isStopping || (!isReady && first)) return;
      this.#parts.onEvent({ kind: isReady ? 'shard-lost' : 'shard-failed', shardId, reason });
      this.#restart(running);
    });
  }

  #restart(running: Running): void {
    const { stableMs, restartDelayMsMin, restartDelayMsMax } = this.#parts.options;
    if (performance.now() - running.startedAtMs > stableMs) running.restarts = 0;
    const delayMs = running.restarts === 0 ? 0 : Math.min(restartDelayMsMax, restartDelayMsMin * 2 ** running.restarts);
    running.restarts++;
    running.timer = setTimeout(() => this.#spawn(running), delayMs);
  }
}

/** Probes a shard until it ends; kills it when it hangs. */
const watch = (child: ChildProcess, httpUrl: string, options: ShardProcessOptions): void => {
  let missed = 0;
  let isAsking = false;
  const probe = async (): Promise<void> => {
    if (isAsking) return; // a probe that takes longer than the interval is one probe
    isAsking = true;
    const isAlive = await fetch(`${httpUrl}/health/live`, { signal: AbortSignal.timeout(options.probeTimeoutMs) }).then(
      ({ ok }) => ok,
      () => false,
    );
    isAsking = false;
    missed = isAlive ? 0 : missed + 1;
    if (missed >= options.probesMissedMax) child.kill('SIGKILL');
  };
  const timer = setInterval(() => void probe(), options.probeIntervalMs);
  timer.unref();
  child.once('exit', () => clearInterval(timer));
};

const stopOne = (running: Running, stopMsMax: number): Promise<void> =>
  new Promise((resolve) => {
    clearTimeout(running.timer);
    const { child } = running;
    if (!child || child.exitCode !== null || child.signalCode !== null) {
      resolve();
      return;
    }
    const timer = setTimeout(() => child.kill('SIGKILL'), stopMsMax);
    child.once('exit', () => {
      clearTimeout(timer);
      resolve();
    });
    if (child.connected) child.send({ kind: 'stop' });
    else child.kill('SIGTERM');
  });
