import { assert, raceAbort } from '../base/index.js';
import type { Clock, TrainableTensor, TrainingBackend, TrainingSequence } from '../platform/index.js';
import { AdamW, type Moments } from './AdamW.js';
import { batchOfStep } from './batchOfStep.js';
import { checkSameRun } from './checkSameRun.js';
import { decodeCheckpoint } from './decodeCheckpoint.js';
import { fitsHalf } from './encodeAdapter.js';
import { encodeCheckpoint } from './encodeCheckpoint.js';
import { trainingError } from './errors.js';
import { initialiseAdapter } from './initialiseAdapter.js';
import { learningRateAt } from './learningRateAt.js';
import type { TrainerOptions } from './options.js';
import { splitPasses } from './splitPasses.js';
import type { TrainingRun } from './TrainingRun.js';

/** Where a run keeps its state. A write replaces the old state whole or leaves it. */
export interface CheckpointFile {
  read(): Promise<Uint8Array | undefined>;
  write(bytes: Uint8Array): Promise<void>;
}

export interface TrainingProgress {
  /** Done, and of how many. */
  readonly step: number;
  readonly steps: number;
  /** Mean over the answer tokens of the step. */
  readonly loss: number;
  readonly learningRate: number;
  /** Of the mean step since this process began, and what is left at that pace; milliseconds. */
  readonly stepMs: number;
  readonly leftMs: number;
}

export interface TrainerParts {
  readonly backend: TrainingBackend;
  readonly clock: Clock;
  readonly checkpoints: CheckpointFile;
  readonly run: TrainingRun;
  readonly sequences: readonly TrainingSequence[];
  readonly options: Pick<TrainerOptions, 'passTokensMax' | 'checkpointIntervalMs'>;
}

/**
 * Trains a LoRA adapter on examples of one domain (R29, paper §II-C), on one shard's machine. Every step depends on the run and the
 * state before it alone, and the state is stored whole: a run that was stopped or killed goes on and ends with the same bytes.
 */
export class IncrementalLoRATrainer {
  readonly #parts: TrainerParts;
  readonly #optimizer: AdamW;
  #stepsDone = 0;

  constructor(parts: TrainerParts) {
    assert(parts.sequences.length > 0, 'a run has examples');
    this.#parts = parts;
    this.#optimizer = new AdamW(parts.backend.tensors, parts.run.options);
    initialiseAdapter(parts.backend.tensors, parts.run.options.seed);
  }

  get stepsDone(): number {
    return this.#stepsDone;
  }

  /** Takes up the stored state. Errors: TRAINING_CHECKPOINT_MISSING, TRAINING_CHECKPOINT_INVALID (damaged, or of another run). */
  async resume(): Promise<void> {
    const bytes = await this.#parts.checkpoints.read();
    if (bytes === undefined) throw trainingError('TRAINING_CHECKPOINT_MISSING', 'there is no checkpoint to go on from');
    const { run, stepsDone, tensors } = decodeCheckpoint(bytes);
    checkSameRun(run, this.#parts.run);
    const { backend } = this.#parts;
    const fits = tensors.length === backend.tensors.length && tensors.every((tensor, i) => isOf(tensor, backend.tensors[i]));
    if (!fits) throw trainingError('TRAINING_CHECKPOINT_INVALID', 'the checkpoint has other tensors than the model needs');
    for (const [i, { values, first, second }] of tensors.entries()) {
      (backend.tensors[i] as TrainableTensor).values.set(values);
      (this.#optimizer.moments[i] as Moments).first.set(first);
      (this.#optimizer.moments[i] as Moments).second.set(second);
    }
    this.#stepsDone = stepsDone;
  }

  /**
   * Trains to the end, or until `signal` aborts: what was done of a step is then dropped and the state before it stored. Errors:
   * TRAINING_DIVERGED, ENGINE_STEP_FAILED, those of the checkpoint file (STORE_FULL).
   */
  async train(signal: AbortSignal, onProgress: (progress: TrainingProgress) => void): Promise<'finished' | 'stopped'> {
    const { clock, options, run } = this.#parts;
    const { steps } = run.options;
    const startedMs = clock.monotonicMs();
    const stepsBefore = this.#stepsDone;
    let storedMs = startedMs;
    while (this.#stepsDone < steps) {
      const loss = await this.#computeGradients(signal);
      if (loss === undefined) {
        await this.#store();
        return 'stopped';
      }
      const learningRate = this.#update(loss);
      const nowMs = clock.monotonicMs();
      const stepMs = (nowMs - startedMs) / (this.#stepsDone - stepsBefore);
      if (nowMs - storedMs >= options.checkpointIntervalMs || this.#stepsDone === steps) {
        await this.#store();
        storedMs = clock.monotonicMs();
      }
      onProgress({ step: this.#stepsDone, steps, loss, learningRate, stepMs, leftMs: stepMs * (steps - this.#stepsDone) });
    }
    this.#checkValues();
    return 'finished';
  }

  /** Mean loss of the next batch, with its gradient in the tensors; undefined once `signal` aborts. */
  async #computeGradients(signal: AbortSignal): Promise<number | undefined> {
    const { backend, run, sequences, options } = this.#parts;
    const { seed, batch } = run.options;
    const indexes = batchOfStep({ seed, step: this.#stepsDone, batch, examples: sequences.length });
    const chosen = indexes.map((index) => sequences[index] as TrainingSequence);
    const targets = chosen.reduce((total, { tokens, promptTokens }) => total + tokens.length - promptTokens, 0);
    for (const { gradient } of backend.tensors) gradient.fill(0);
    let sum = 0;
    for (const pass of splitPasses(chosen, options.passTokensMax)) {
      const losses = await abandonable(backend.run(pass, 1 / targets), signal);
      if (losses === undefined) return undefined;
      for (const loss of losses) sum += loss;
    }
    return sum / targets;
  }

  #update(loss: number): number {
    const { options } = this.#parts.run;
    if (!Number.isFinite(loss))
      throw trainingError('TRAINING_DIVERGED', `the loss of step ${this.#stepsDone + 1} is ${loss}`, {
        data: { step: this.#stepsDone + 1 },
      });
    const learningRate = learningRateAt(this.#stepsDone, options);
    this.#optimizer.update(this.#stepsDone, learningRate);
    this.#stepsDone++;
    return learningRate;
  }

  /** The file of the adapter holds 16-bit numbers. */
  #checkValues(): void {
    const odd = this.#parts.backend.tensors.find(({ values }) => !fitsHalf(values));
    if (odd) throw trainingError('TRAINING_DIVERGED', `tensor ${odd.name} has values that 16 bits cannot hold`);
  }

  async #store(): Promise<void> {
    const { backend, checkpoints, run } = this.#parts;
    const tensors = backend.tensors.map(({ name, values }, i) => ({ name, values, ...(this.#optimizer.moments[i] as Moments) }));
    await checkpoints.write(encodeCheckpoint({ run, stepsDone: this.#stepsDone, tensors }));
  }
}

const isOf = (stored: { readonly name: string; readonly values: Float32Array }, tensor: TrainableTensor | undefined): boolean =>
  stored.name === tensor?.name && stored.values.length === tensor.values.length;

/** The work's result, or undefined as soon as `signal` aborts; the work itself runs on. */
const abandonable = async <Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value | undefined> => {
  try {
    return await raceAbort(work, signal);
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
};
