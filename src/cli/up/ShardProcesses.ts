import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { OstrakaError } from '../../base/index.js';
import { cliError } from '../errors.js';
import type { ShardMessage } from '../shardMessages.js';
import type { PreparedShard } from './prepareShards.js';

export type ReadyShard = Extract<ShardMessage, { readonly kind: 'ready' }> & { readonly pid: number };

export type ShardEvent =
  | { readonly kind: 'shard-ready'; readonly shard: ReadyShard }
  | { readonly kind: 'shard-lost'; readonly shardId: string; readonly reason: string }
  | { readonly kind: 'shard-failed'; readonly shardId: string; readonly reason: string };

const limits = {
  /** A shard that answers no liveness probe so often in a row hangs: it is ended and started again. */
  probeIntervalMs: 5_000,
  probeTimeoutMs: 5_000,
  probesMissedMax: 6,
  restartDelayMsMin: 200,
  restartDelayMsMax: 10_000,
  stopMsMax: 4_000,
  stableMs: 30_000,
} as const;

interface Running {
  readonly prepared: PreparedShard;
  child: ChildProcess | undefined;
  restarts: number;
  startedAtMs: number;
  timer: NodeJS.Timeout | undefined;
}

/** The shard processes of one `up`: starts them, starts one that dies again (with growing waits), ends them all. */
export class ShardProcesses {
  readonly #running: Running[] = [];
  readonly #onEvent: (event: ShardEvent) => void;
  readonly #mainPath = fileURLToPath(new URL('../main.js', import.meta.url));
  #isStopping = false;

  constructor(options: { readonly onEvent: (event: ShardEvent) => void }) {
    this.#onEvent = options.onEvent;
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
    await Promise.all(this.#running.map((running) => stopOne(running)));
  }

  #spawn(running: Running, first?: { readonly resolve: (ready: ReadyShard) => void; readonly reject: (error: unknown) => void }): void {
    const { shardId, configFile, logFile } = running.prepared;
    const child = fork(this.#mainPath, ['start', '--config', configFile], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'], execArgv: [] });
    running.child = child;
    running.startedAtMs = performance.now();
    let failure: OstrakaError | undefined;
    let isReady = false;
    child.on('message', (raw) => {
      const message = raw as ShardMessage;
      if (message.kind === 'failed') failure = new OstrakaError(message.error);
      if (message.kind !== 'ready') return;
      isReady = true;
      const ready = { ...message, pid: child.pid ?? 0 };
      first?.resolve(ready);
      this.#onEvent({ kind: 'shard-ready', shard: ready });
      watch(child, ready.httpUrl);
    });
    child.on('exit', (code, signal) => {
      running.child = undefined;
      const reason = failure?.message ?? `ended with ${signal ?? `code ${code}`}; its log: ${logFile}`;
      if (!isReady) first?.reject(failure ?? cliError('SHARD_START_FAILED', `${shardId} ${reason}`));
      if (this.#isStopping || (!isReady && first)) return;
      this.#onEvent({ kind: isReady ? 'shard-lost' : 'shard-failed', shardId, reason });
      this.#restart(running);
    });
  }

  #restart(running: Running): void {
    if (performance.now() - running.startedAtMs > limits.stableMs) running.restarts = 0;
    const delayMs = running.restarts === 0 ? 0 : Math.min(limits.restartDelayMsMax, limits.restartDelayMsMin * 2 ** running.restarts);
    running.restarts++;
    running.timer = setTimeout(() => this.#spawn(running), delayMs);
  }
}

/** Probes a shard until it ends; kills it when it hangs. */
const watch = (child: ChildProcess, httpUrl: string): void => {
  let missed = 0;
  const probe = async (): Promise<void> => {
    const isAlive = await fetch(`${httpUrl}/health/live`, { signal: AbortSignal.timeout(limits.probeTimeoutMs) }).then(
      ({ ok }) => ok,
      () => false,
    );
    missed = isAlive ? 0 : missed + 1;
    if (missed >= limits.probesMissedMax) child.kill('SIGKILL');
  };
  const timer = setInterval(() => void probe(), limits.probeIntervalMs);
  timer.unref();
  child.once('exit', () => clearInterval(timer));
};

const stopOne = (running: Running): Promise<void> =>
  new Promise((resolve) => {
    clearTimeout(running.timer);
    const { child } = running;
    if (!child || child.exitCode !== null || child.signalCode !== null) {
      resolve();
      return;
    }
    const timer = setTimeout(() => child.kill('SIGKILL'), limits.stopMsMax);
    child.once('exit', () => {
      clearTimeout(timer);
      resolve();
    });
    if (child.connected) child.send({ kind: 'stop' });
    else child.kill('SIGTERM');
  });
