import { type ChildProcess, fork } from 'node:child_process';
import { OstrakaError, onAbort, toAbortError } from '../../base/index.js';
import {
  type EngineConfig,
  type EngineExit,
  type EngineLauncher,
  type EngineProgress,
  type LaunchedEngine,
  type Logger,
  platformError,
} from '../index.js';
import { ChildModelService } from './ChildModelService.js';
import type { EngineCommand, EngineMessage } from './engineMessages.js';
import { readResidentBytes } from './readResidentBytes.js';
import { readTextIfThere } from './readTextIfThere.js';

export interface ChildEngineLauncherOptions {
  /** The compiled entry of the child; only `cli` knows where it is. */
  readonly engineMainPath: string;
  /** How long a stopped child may take before it is killed, milliseconds. */
  readonly stopMsMax: number;
  readonly logger: Logger;
}

// What the child last wrote to stderr says why a native assertion ended it; more than this is of no use. It also goes to the shard's log:
// warnings of the child's own logger, and llama.cpp's log when OSTRAKA_LLAMA_LOG is 1.
const stderrCharactersMax = 4096;

/**
 * Starts the engine as a child process (R18): an abort of the native library costs the requests in flight, never the shard. The child
 * ends when the channel closes, also when the shard is killed.
 */
export class ChildEngineLauncher implements EngineLauncher {
  readonly #options: ChildEngineLauncherOptions;

  constructor(options: ChildEngineLauncherOptions) {
    this.#options = options;
  }

  async launch(config: EngineConfig, signal: AbortSignal, onProgress?: (progress: EngineProgress) => void): Promise<LaunchedEngine> {
    if (signal.aborted) throw toAbortError(signal);
    const child = new EngineChild(this.#options);
    const forget = onAbort(signal, () => child.kill());
    try {
      const modelService = await child.start(config, onProgress);
      return {
        modelService,
        pid: child.pid,
        residentBytes: () => readResidentBytes(child.pid, readTextIfThere),
        exited: child.exited,
        ping: () => child.ping(),
        kill: (why) => child.killFor(why),
        stop: () => child.stop(),
      };
    } catch (error) {
      child.kill();
      throw signal.aborted ? toAbortError(signal) : error;
    } finally {
      forget();
    }
  }
}

/** What a fault of native code ends a process with. */
const faultSignals: ReadonlySet<NodeJS.Signals> = new Set(['SIGSEGV', 'SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGILL', 'SIGTRAP', 'SIGSYS']);

/** Stopped by a signal, as the system tells it; false where it does not. */
const isStopped = (pid: number): boolean => {
  const stat = readTextIfThere(`/proc/${pid}/stat`) ?? ''; // not Linux, or gone
  return stat.slice(stat.lastIndexOf(')') + 2).startsWith('T');
};

class EngineChild {
  readonly exited: Promise<EngineExit>;
  readonly #process: ChildProcess;
  readonly #options: ChildEngineLauncherOptions;
  #service: ChildModelService | undefined;
  #pings: (() => void)[] = [];
  #stderr = '';
  #killedFor: { readonly why: string; readonly byItself: boolean } | undefined;

  constructor(options: ChildEngineLauncherOptions) {
    this.#options = options;
    this.#process = fork(options.engineMainPath, [], {
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      execArgv: [],
    });
    this.#process.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-stderrCharactersMax);
      options.logger.warn('engine.stderr', { text: text.slice(0, stderrCharactersMax) });
    });
    this.exited = new Promise((resolve) => {
      const onGone = (how: string, byItself: boolean): void => {
        const reason = this.#reasonOf(how);
        this.#service?.lose(reason);
        resolve({ reason, byItself });
      };
      this.#process.once('exit', (code, killedBy) => {
        if (killedBy === null) onGone(`exit code ${code}`, code !== 0);
        else onGone(this.#describeKill(killedBy), this.#killedFor?.byItself === true || faultSignals.has(killedBy));
      });
      this.#process.on('error', (error) => onGone(error.message, false));
    });
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  /** Resolves when the engine is warm. */
  start(config: EngineConfig, onProgress: (progress: EngineProgress) => void = () => undefined): Promise<ChildModelService> {
    return new Promise((resolve, reject) => {
      this.#process.on('message', (message: EngineMessage) => {
        if (message.kind === 'pong') this.#answerPings();
        else if (message.kind === 'progress') onProgress(message.progress);
        else if (message.kind === 'failed') reject(new OstrakaError(message.error));
        else if (message.kind !== 'ready') this.#service?.receive(message);
        else {
          this.#service = new ChildModelService({
            send: (command) => this.#send(command),
            facts: message.facts,
            load: message.load,
            figures: message.figures,
          });
          resolve(this.#service);
        }
      });
      void this.exited.then(({ reason }) => reject(platformError('ENGINE_LOST', `the engine ended while it loaded: ${reason}`)));
      this.#send({ kind: 'start', config });
    });
  }

  ping(): Promise<void> {
    return new Promise((resolve) => {
      this.#pings.push(resolve);
      this.#send({ kind: 'ping' });
    });
  }

  async stop(): Promise<void> {
    if (this.#process.connected) this.#process.disconnect();
    const timer = setTimeout(() => this.kill(), this.#options.stopMsMax);
    await this.exited;
    clearTimeout(timer);
  }

  /** Kills one that stands still or has grown too large: what it runs may be the cause, unless somebody stopped it. */
  killFor(why: string): void {
    this.#killedFor = { why, byItself: !isStopped(this.pid) };
    this.kill();
  }

  kill(): void {
    this.#process.kill('SIGKILL');
  }

  /** Any answer is a sign of life for all who asked. */
  #answerPings(): void {
    for (const answer of this.#pings.splice(0)) answer();
  }

  #send(command: EngineCommand): void {
    if (!this.#process.connected) return; // its exit fails the call
    this.#process.send(command, (error) => {
      if (error !== null) this.#options.logger.debug('engine.send_failed', { message: error.message });
    });
  }

  #describeKill(signal: NodeJS.Signals): string {
    return this.#killedFor === undefined ? `signal ${signal}` : `signal ${signal}, since ${this.#killedFor.why}`;
  }

  #reasonOf(how: string): string {
    const text = this.#stderr.trim();
    return text === '' ? how : `${how}: ${text}`;
  }
}
