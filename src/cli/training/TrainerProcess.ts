import { type ChildProcess, fork } from 'node:child_process';
import { OstrakaError, onAbort } from '../../base/index.js';
import { type TrainingProgress, trainingError } from '../../training/index.js';
import type { TrainerCommand, TrainerConfig, TrainerEnd, TrainerMessage } from './trainerMessages.js';

export interface TrainerProcessOptions {
  /** The compiled entry of the child. */
  readonly mainPath: string;
  /** How long a stopped child may take to store its state before it is killed, milliseconds. */
  readonly stopMsMax: number;
  readonly onStarted: (started: { readonly pid: number; readonly stepsDone: number; readonly tokens: number }) => void;
  readonly onProgress: (progress: TrainingProgress) => void;
}

// Why a native assertion ended the child stands at the beginning of what it wrote then; a trace of its stack follows.
const stderrCharactersMax = 8_000;

/**
 * Trains in a child process (R29): an assertion of the native library ends the child, and this process says so. The child ends when the
 * channel closes, also when this process is killed.
 */
export class TrainerProcess {
  readonly #options: TrainerProcessOptions;
  readonly #process: ChildProcess;
  #stderr = '';
  #stepsDone = 0;
  #killedByUs = false;

  constructor(options: TrainerProcessOptions) {
    this.#options = options;
    this.#process = fork(options.mainPath, [], { serialization: 'advanced', stdio: ['ignore', 'ignore', 'pipe', 'ipc'], execArgv: [] });
    this.#process.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-stderrCharactersMax);
    });
  }

  /** Resolves when the adapter is written, or the state of a stopped run. Errors: those of the trainer; TRAINER_LOST. */
  async run(config: TrainerConfig, signal: AbortSignal): Promise<TrainerEnd> {
    const exited = new Promise<void>((resolve) => {
      this.#process.once('close', () => resolve());
      this.#process.once('error', () => resolve());
    });
    const ended = this.#outcome(config);
    const forget = onAbort(signal, () => this.#stop(exited));
    try {
      const end = await ended;
      await exited;
      return end;
    } finally {
      forget();
      this.#process.kill('SIGKILL');
    }
  }

  #outcome(config: TrainerConfig): Promise<TrainerEnd> {
    return new Promise((resolve, reject) => {
      this.#process.on('message', (message: TrainerMessage) => {
        if (message.kind === 'started') this.#start(message);
        else if (message.kind === 'progress') this.#report(message.progress);
        else if (message.kind === 'failed') reject(new OstrakaError(message.error));
        else resolve(message);
      });
      this.#process.once('error', (error) => reject(this.#lost(config, error.message)));
      this.#process.once('close', (code, killedBy) => {
        // A child that was stopped while it read the model has stored nothing, and there is nothing to store.
        if (this.#killedByUs) resolve({ kind: 'stopped', stepsDone: this.#stepsDone });
        else reject(this.#lost(config, killedBy === null ? `exit code ${code}` : `signal ${killedBy}`));
      });
      this.#send({ kind: 'start', config });
    });
  }

  #start({ stepsDone, tokens }: Extract<TrainerMessage, { kind: 'started' }>): void {
    this.#stepsDone = stepsDone;
    this.#options.onStarted({ pid: this.#process.pid ?? 0, stepsDone, tokens });
  }

  #report(progress: TrainingProgress): void {
    this.#stepsDone = progress.step;
    this.#options.onProgress(progress);
  }

  #stop(exited: Promise<void>): void {
    this.#send({ kind: 'stop' });
    const timer = setTimeout(() => {
      this.#killedByUs = true;
      this.#process.kill('SIGKILL');
    }, this.#options.stopMsMax);
    void exited.then(() => clearTimeout(timer));
  }

  #send(command: TrainerCommand): void {
    if (this.#process.connected) this.#process.send(command, () => undefined); // its exit says what went wrong
  }

  #lost(config: TrainerConfig, how: string): OstrakaError {
    const words = lastWords(this.#stderr);
    const reason = words === '' ? how : `${how}: ${words}`;
    const message = `the trainer ended after step ${this.#stepsDone} (${reason}); its last checkpoint is ${config.checkpointFile}, if it wrote one`;
    return trainingError('TRAINER_LOST', message, { data: { stepsDone: this.#stepsDone } });
  }
}

/** The line of a native assertion, else the last one. */
const lastWords = (stderr: string): string => {
  const lines = stderr.split('\n').map((line) => line.trim());
  const assertion = lines.find((line) => /GGML_ASSERT|GGML_ABORT|terminate called|out of memory/i.test(line));
  return assertion ?? lines.filter((line) => line !== '').at(-1) ?? '';
};
