import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { ManualClock } from '../../test/support/ManualClock.js';
import { platformError, type TrainableTensor, type TrainingBackend, type TrainingSequence } from '../platform/index.js';
import { decodeCheckpoint } from './decodeCheckpoint.js';
import { encodeAdapter } from './encodeAdapter.js';
import { encodeCheckpoint } from './encodeCheckpoint.js';
import { type CheckpointFile, IncrementalLoRATrainer, type TrainingProgress } from './IncrementalLoRATrainer.js';
import { trainingOptions } from './options.js';
import type { TrainingRun } from './TrainingRun.js';

/** A bowl with another bottom for every first token: a loss with a gradient that depends on the batch. */
class BowlBackend implements TrainingBackend {
  readonly shape = { layers: 1, width: 4, feedForwardWidth: 4, heads: 1, headsOfKeys: 1, vocabularySize: 100, contextTokens: 64 };
  readonly tensors: readonly TrainableTensor[] = ['a', 'b'].map((side) => ({
    name: `blk.0.attn_q.weight.lora_${side}`,
    columns: side === 'a' ? 4 : 2,
    rows: side === 'a' ? 2 : 4,
    values: new Float32Array(8),
    gradient: new Float32Array(8),
  }));
  passes = 0;
  onPass: () => void | Promise<void> = () => undefined;
  lossOf = (distance: number): number => distance;

  async run(sequences: readonly TrainingSequence[], gradientScale: number): Promise<Float32Array> {
    this.passes++;
    await this.onPass();
    return Float32Array.from(sequences, ({ tokens }) => {
      let distance = 0;
      for (const { values, gradient } of this.tensors)
        for (const [i, value] of values.entries()) {
          const way = value - Math.sin((tokens[0] as number) + i);
          distance += way * way;
          gradient[i] = (gradient[i] as number) + 2 * way * gradientScale;
        }
      return this.lossOf(distance);
    });
  }
  close = async (): Promise<void> => undefined;
}

class MemoryFile implements CheckpointFile {
  bytes: Uint8Array | undefined;
  writes = 0;
  isFull = false;
  read = async () => this.bytes;
  write = async (bytes: Uint8Array) => {
    if (this.isFull) throw platformError('STORE_FULL', 'no room');
    this.writes++;
    this.bytes = bytes;
  };
}

const sequences = Array.from({ length: 10 }, (_, i) => ({ tokens: Int32Array.of(i, 1), promptTokens: 1 }));
const runOf = (options: Partial<TrainingRun['options']> = {}, rest: Partial<TrainingRun> = {}): TrainingRun => ({
  domain: 'legal',
  baseDigest: 'a'.repeat(64),
  dataDigest: 'b'.repeat(64),
  examples: sequences.length,
  options: trainingOptions.parse({ steps: 12, batch: 4, rank: 2, learningRate: 0.05, contextTokens: 64, ...options }),
  ...rest,
});

describe('IncrementalLoRATrainer (R29)', () => {
  let backend: BowlBackend;
  let file: MemoryFile;
  let clock: ManualClock;
  beforeEach(() => {
    [backend, file, clock] = [new BowlBackend(), new MemoryFile(), new ManualClock()];
  });
  const { signal } = new AbortController();
  const trainerOf = (run = runOf(), checkpointIntervalMs = 0, on = new BowlBackend()) => {
    backend = on;
    return new IncrementalLoRATrainer({
      backend,
      clock,
      checkpoints: file,
      run,
      sequences,
      options: { passTokensMax: 512, checkpointIntervalMs },
    });
  };
  const valuesOf = () => backend.tensors.map(({ values }) => Array.from(values));
  const ignore = () => undefined;

  it('lowers the loss, reports every step, and trains the same from the same seed, otherwise from another', async () => {
    const seen: TrainingProgress[] = [];
    expect(await trainerOf(runOf({ steps: 60 })).train(signal, (progress) => seen.push(progress))).toBe('finished');
    const mean = (of: TrainingProgress[]) => of.reduce((total, { loss }) => total + loss, 0) / of.length;
    expect(mean(seen.slice(-6))).toBeLessThan(mean(seen.slice(0, 6)) - 0.3);
    expect(seen.map(({ step }) => step)).toEqual(Array.from({ length: 60 }, (_, i) => i + 1));
    expect(seen.at(-1)).toMatchObject({ steps: 60, leftMs: 0 });
    const first = valuesOf();
    await trainerOf(runOf({ steps: 60 })).train(signal, ignore);
    expect(valuesOf()).toEqual(first);
    await trainerOf(runOf({ steps: 60, seed: 2 })).train(signal, ignore);
    expect(valuesOf()).not.toEqual(first);
  });

  it('stopped anywhere, also within a step, and gone on with, it ends with the bytes of a run that never stopped', async () => {
    await trainerOf().train(signal, ignore);
    const whole = valuesOf();
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(11), { minLength: 1, maxLength: 3 }), async (stops) => {
        file = new MemoryFile();
        for (const stop of stops.sort((left, right) => left - right)) {
          const stopping = new AbortController();
          const trainer = trainerOf(runOf(), 1e9);
          if (file.bytes) await trainer.resume();
          backend.onPass = () => {
            if (trainer.stepsDone === stop) stopping.abort();
          };
          expect(await trainer.train(stopping.signal, ignore)).toBe('stopped');
          expect(decodeCheckpoint(file.bytes as Uint8Array).stepsDone).toBe(stop);
        }
        const last = trainerOf();
        await last.resume();
        expect(await last.train(signal, ignore)).toBe('finished');
        expect(valuesOf()).toEqual(whole);
      }),
      { numRuns: 20 },
    );
  });

  it('stores its state as often as it is told and at the end; a finished run gone on with does nothing', async () => {
    const trainer = trainerOf(runOf(), 100);
    backend.onPass = () => clock.advance(30);
    await trainer.train(signal, ignore);
    expect(file.writes).toBe(3); // at 120, 240 and 360 ms, which is the end
    const again = trainerOf();
    await again.resume();
    expect(await again.train(signal, ignore)).toBe('finished');
    expect(backend.passes).toBe(0);
  });

  it('a full disk ends the run with STORE_FULL and keeps the checkpoint before', async () => {
    const trainer = trainerOf();
    backend.onPass = () => {
      file.isFull = trainer.stepsDone >= 5;
    };
    await expect(trainer.train(signal, ignore)).rejects.toMatchObject({ code: 'STORE_FULL' });
    expect(decodeCheckpoint(file.bytes as Uint8Array).stepsDone).toBe(5);
  });

  it('a loss that is no number ends the run as TRAINING_DIVERGED and is not stored', async () => {
    const trainer = trainerOf();
    backend.lossOf = (distance) => (trainer.stepsDone >= 3 ? Number.NaN : distance);
    await expect(trainer.train(signal, ignore)).rejects.toMatchObject({ code: 'TRAINING_DIVERGED', data: { step: 4 } });
    expect(decodeCheckpoint(file.bytes as Uint8Array).stepsDone).toBe(3);
  });

  it('a batch in several passes is the same step', async () => {
    await trainerOf().train(signal, ignore);
    const whole = valuesOf().flat();
    backend = new BowlBackend();
    const options = { passTokensMax: 1, checkpointIntervalMs: 0 };
    await new IncrementalLoRATrainer({ backend, clock, checkpoints: file, run: runOf(), sequences, options }).train(signal, ignore);
    for (const [i, value] of valuesOf().flat().entries()) expect(value).toBeCloseTo(whole[i] as number, 4);
  });

  it.each<[string, TrainingRun, RegExp]>([
    ['seed', runOf({ seed: 2 }), /seed is 1, asked for is 2/],
    ['steps', runOf({ steps: 13 }), /steps is 12/],
    ['data', runOf({}, { dataDigest: 'c'.repeat(64) }), /dataDigest/],
    ['model', runOf({}, { baseDigest: 'c'.repeat(64) }), /baseDigest/],
    ['domain', runOf({}, { domain: 'medical' }), /domain is legal/],
  ])('refuses to go on from a run with another %s', async (_, run, message) => {
    await trainerOf().train(signal, ignore);
    await expect(trainerOf(run).resume()).rejects.toMatchObject({
      code: 'TRAINING_CHECKPOINT_INVALID',
      message: expect.stringMatching(message),
    });
  });

  it('refuses to go on from nothing, and from other tensors', async () => {
    await expect(trainerOf().resume()).rejects.toMatchObject({ code: 'TRAINING_CHECKPOINT_MISSING' });
    const tensors = [
      { name: 'blk.0.ffn_up.weight.lora_a', values: new Float32Array(8), first: new Float32Array(8), second: new Float32Array(8) },
    ];
    file.bytes = encodeCheckpoint({ run: runOf(), stepsDone: 1, tensors });
    await expect(trainerOf().resume()).rejects.toMatchObject({ code: 'TRAINING_CHECKPOINT_INVALID' });
  });
});

describe('a checkpoint', () => {
  const checkpoint = {
    run: runOf(),
    stepsDone: 7,
    tensors: [{ name: 'x', values: Float32Array.of(1, 0.1), first: Float32Array.of(-0, 3), second: Float32Array.of(1e-30, 4) }],
  };
  const bytes = encodeCheckpoint(checkpoint);

  it('comes back as it was, bit by bit', () => {
    expect(decodeCheckpoint(bytes)).toEqual(checkpoint);
    expect(encodeCheckpoint(decodeCheckpoint(bytes))).toEqual(bytes);
  });

  it('is refused at every shorter length and with any bit changed', () => {
    const invalid = expect.objectContaining({ code: 'TRAINING_CHECKPOINT_INVALID' });
    for (let length = 0; length < bytes.length; length++) expect(() => decodeCheckpoint(bytes.subarray(0, length))).toThrow(invalid);
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
        const changed = bytes.slice();
        changed[at] = (changed[at] as number) ^ change;
        expect(() => decodeCheckpoint(changed)).toThrow(invalid);
      }),
    );
  });
});

describe('encodeAdapter', () => {
  const tensor = { name: 'blk.0.attn_q.weight.lora_a', columns: 4, rows: 2, values: new Float32Array(8) };
  const content = { domain: 'legal', baseDigest: 'a'.repeat(64), rank: 2, alpha: 4, tensors: [tensor] };

  it('gives the same bytes for the same content, other ones for another seed', () => {
    expect(encodeAdapter({ ...content, run: runOf() })).toEqual(encodeAdapter({ ...content, run: runOf() }));
    expect(encodeAdapter({ ...content, run: runOf({ seed: 2 }) })).not.toEqual(encodeAdapter({ ...content, run: runOf() }));
  });

  it('takes no value that 16 bits cannot hold', () => {
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, 70_000])
      expect(() => encodeAdapter({ ...content, tensors: [{ ...tensor, values: new Float32Array(8).fill(value) }] })).toThrow(/16 bits/);
  });
});
