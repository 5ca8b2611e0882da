import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type LinearName,
  linearWidths,
  type TrainableTensor,
  type TrainingBackend,
  type TrainingSequence,
} from '../../../src/platform/index.js';
import { GgmlTrainingBackend, hashFile, LlamaStepBackend, LlamaVocabulary, quantizeModel } from '../../../src/platform/node/index.js';
import { type AdapterTensor, encodeAdapter } from '../../../src/training/index.js';
import { toPeftOrder } from '../../support/peftFiles.js';
import { noise, tinyShape, writeTinyLlama } from '../../support/tinyLlama.js';

const linears = Object.keys(linearWidths(tinyShape)) as LinearName[];
const [rank, alpha] = [4, 6];

describe('GgmlTrainingBackend: a backward pass of our own (R29)', () => {
  let folder: string;
  let model: { readonly path: string; readonly digest: string };
  let backend: TrainingBackend;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'ostraka-training-'));
    model = writeTinyLlama(join(folder, 'tiny.gguf'));
    backend = await GgmlTrainingBackend.open({ model, targets: linears, rank, alpha, threads: 1 });
    for (const { name, values, columns } of backend.tensors) values.set(noise(name, values.length, 1 / Math.sqrt(columns)));
  });
  afterAll(async () => {
    await backend?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const sequence = (text: string, answerTokens: number): TrainingSequence => {
    const tokens = Int32Array.from(Buffer.from(text), (byte) => byte + 3);
    return { tokens, promptTokens: tokens.length - answerTokens };
  };
  // Of different lengths, so that padding must not show.
  const batch = [sequence('what is the torque of a bolt?268 Nm', 6), sequence('who signs?Ottilie', 7), sequence('when?now', 3)];
  const sum = (values: Float32Array): number => values.reduce((total, value) => total + value, 0);
  const lossOf = async (sequences: readonly TrainingSequence[]): Promise<number> => sum(await backend.run(sequences, 0));
  const clear = (): void => {
    for (const { gradient } of backend.tensors) gradient.fill(0);
  };

  it('its gradients agree with finite differences to 1 % on every tensor of the adapter', { timeout: 30_000 }, async () => {
    clear();
    await backend.run(batch, 1);
    expect(backend.tensors).toHaveLength(tinyShape.layers * 7 * 2);
    const off: string[] = [];
    for (const { name, values, gradient } of backend.tensors) {
      // Along the gradient itself the slope is its length.
      const length = Math.hypot(...gradient);
      const [before, step] = [values.slice(), 0.02];
      const losses: number[] = [];
      for (const sign of [1, -1]) {
        for (let i = 0; i < values.length; i++) values[i] = (before[i] as number) + (sign * step * (gradient[i] as number)) / length;
        losses.push(await lossOf(batch));
      }
      values.set(before);
      const slope = ((losses[0] as number) - (losses[1] as number)) / (2 * step);
      if (!(length > 0) || Math.abs(slope - length) > 0.01 * length) off.push(`${name}: ${slope} instead of ${length}`);
    }
    expect(off).toEqual([]);
  });

  it('a sequence has the same loss alone and beside longer ones, and gradients add up', async () => {
    const together = await backend.run(batch, 0);
    const alone: number[] = [];
    for (const one of batch) alone.push(...(await backend.run([one], 0)));
    expect(together).toHaveLength(16);
    for (const [i, loss] of alone.entries()) expect(together[i]).toBeCloseTo(loss, 4);
    clear();
    await backend.run(batch, 0.5);
    const whole = backend.tensors.map(({ gradient }) => gradient.slice());
    clear();
    for (const one of batch) await backend.run([one], 0.5);
    for (const [i, { gradient }] of backend.tensors.entries())
      for (const [k, value] of gradient.entries()) expect(value).toBeCloseTo((whole[i] as Float32Array)[k] as number, 3);
  });

  it('gives the same bits again', async () => {
    const run = async () => {
      clear();
      const losses = await backend.run(batch, 1);
      return [losses, ...backend.tensors.map(({ gradient }) => gradient.slice())];
    };
    expect(await run()).toEqual(await run());
  });

  it('of a model in 16 or 8 bits its gradients point where those of the floats do', async () => {
    clear();
    await backend.run(batch, 1);
    const half = writeTinyLlama(join(folder, 'half.gguf'), { type: 'f16' });
    const path = join(folder, 'q8.gguf');
    quantizeModel({ from: model.path, to: path, fileType: 7 });
    const quantised = { path, digest: await hashFile(path) };
    for (const [other, least] of [
      [half, 0.999],
      [quantised, 0.98],
    ] as const) {
      const second = await GgmlTrainingBackend.open({ model: other, targets: linears, rank, alpha, threads: 1 });
      for (const [i, { values }] of second.tensors.entries()) values.set((backend.tensors[i] as TrainableTensor).values);
      await second.run(batch, 1);
      const cosines = second.tensors.map(({ gradient }, i) => cosineOf(gradient, (backend.tensors[i] as TrainableTensor).gradient));
      await second.close();
      expect(Math.min(...cosines)).toBeGreaterThan(least);
    }
  });

  it('the engine with the adapter file gives the logits of this forward pass; with q and k in PEFT’s order of rows it does not', async () => {
    const engine = LlamaStepBackend.open({ model, sequences: 1, contextTokens: 256, threads: 1 });
    try {
      const vocabulary = LlamaVocabulary.open(model); // without weights it knows the same
      expect(engine.facts).toMatchObject(vocabulary.facts);
      for (const parseSpecial of [true, false])
        expect(vocabulary.tokenize('<s>Größe 7</s>', { parseSpecial })).toEqual(engine.tokenize('<s>Größe 7</s>', { parseSpecial }));
      vocabulary.close();
      const prompt = (batch[1] as TrainingSequence).tokens.slice(0, 12);
      const expected = await logProbabilities(backend, prompt);
      const load = (name: string, tensors: readonly AdapterTensor[]) => {
        const path = join(folder, name);
        writeFileSync(path, encodeAdapter({ domain: 'test', baseDigest: model.digest, rank, alpha, tensors }));
        return engine.loadAdapter({ path }).digest;
      };
      const distance = (adapter: string | null) => distanceOf(engineLogProbabilities(engine, prompt, adapter), expected);
      expect(distance(load('right.gguf', backend.tensors))).toBeLessThan(0.05);
      expect(distance(load('unpermuted.gguf', toPeftOrder(backend.tensors, tinyShape)))).toBeGreaterThan(0.5);
      expect(distance(null)).toBeGreaterThan(0.5);
    } finally {
      engine.close();
    }
  });

  it('refuses sequences that native code would read past', async () => {
    const tokens = (batch[0] as TrainingSequence).tokens;
    const wrong: TrainingSequence[] = [
      { tokens: Int32Array.of(3, tinyShape.vocabularySize, 4), promptTokens: 1 },
      { tokens: Int32Array.of(3, -1, 4), promptTokens: 1 },
      { tokens, promptTokens: tokens.length },
      { tokens, promptTokens: 0 },
      { tokens: new Int32Array(tinyShape.contextTokens + 1), promptTokens: 1 },
    ];
    for (const one of wrong) await expect(backend.run([one], 0)).rejects.toMatchObject({ code: 'INTERNAL' });
    await expect(backend.run([], 0)).rejects.toMatchObject({ code: 'INTERNAL' });
  });
});

/** Of the token after `prompt`, for every token of the vocabulary: each is asked for once. */
async function logProbabilities(backend: TrainingBackend, prompt: Int32Array): Promise<number[]> {
  const all: number[] = [];
  const group = 32;
  for (let from = 0; from < tinyShape.vocabularySize; from += group) {
    const sequences = Array.from({ length: group }, (_, i) => ({
      tokens: Int32Array.of(...prompt, from + i),
      promptTokens: prompt.length,
    }));
    all.push(...Array.from(await backend.run(sequences, 0), (loss) => -loss));
  }
  return all;
}

function engineLogProbabilities(engine: LlamaStepBackend, prompt: Int32Array, adapter: string | null): number[] {
  engine.useAdapter(adapter === null ? null : { digest: adapter, scale: 1 });
  engine.truncateSequence(0, 0);
  engine.decode(Array.from(prompt, (token, position) => ({ token, position, sequence: 0, wantLogits: position === prompt.length - 1 })));
  const logits = Array.from(engine.logits(prompt.length - 1));
  const top = Math.max(...logits);
  const norm = top + Math.log(logits.reduce((total, logit) => total + Math.exp(logit - top), 0));
  return logits.map((logit) => logit - norm);
}

const cosineOf = (left: Float32Array, right: Float32Array): number =>
  left.reduce((total, value, i) => total + value * (right[i] as number), 0) / (Math.hypot(...left) * Math.hypot(...right));

const distanceOf = (left: readonly number[], right: readonly number[]): number =>
  Math.max(...left.map((value, i) => Math.abs(value - (right[i] as number))));
