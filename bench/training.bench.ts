// Claim (R29): a training step, forward and back, costs at most three forward passes over the same rows, since frozen weights have no
// gradients of their own. CPU-seconds of a step against those of a forward pass, one thread, in turn, so that a busy machine slows both.
// Data: a batch of 8 sequences of 48 tokens, 8 of them answer, which is what the sample's examples have.
import { GgmlTrainingBackend } from '../src/platform/node/index.js';
import type { BenchResult } from './BenchResult.js';
import { measured } from './measured.js';
import { modelFile } from './modelFile.js';

const [sequences, tokens, answerTokens] = [8, 48, 8];
const targets = ['attn_q', 'attn_k', 'attn_v', 'attn_output'] as const;
const forwardsMax = 3;

/** Needs the chat model in OSTRAKA_TEST_CHAT_MODEL. */
export async function trainingBench(options: { readonly quick: boolean }): Promise<BenchResult[]> {
  const backend = await GgmlTrainingBackend.open({ model: modelFile('OSTRAKA_TEST_CHAT_MODEL'), targets, rank: 8, alpha: 16, threads: 1 });
  const batch = Array.from({ length: sequences }, (_, sequence) => ({
    tokens: Int32Array.from({ length: tokens }, (_, i) => 1000 + sequence * 101 + i * 13),
    promptTokens: tokens - answerTokens,
  }));
  const steps: number[] = [];
  const forwards: number[] = [];
  for (let run = -1; run < (options.quick ? 2 : 10); run++) {
    const forward = await cpuSecondsOf(() => backend.run(batch, 0));
    const step = await cpuSecondsOf(() => backend.run(batch, 1 / (sequences * answerTokens)));
    if (run < 0) continue; // the first run warms up
    forwards.push(forward);
    steps.push(step);
  }
  await backend.close();
  const forward = forwards.sort((left, right) => left - right)[forwards.length >> 1] as number;
  return [
    measured({
      name: `training step, ${sequences} sequences of ${tokens} tokens`,
      metric: 'CPU time',
      unit: 'CPU-s',
      values: steps,
      against: `${forwardsMax} forward passes (${(forwardsMax * forward).toFixed(2)} CPU-s)`,
      ratioOf: (median) => (forwardsMax * forward) / median,
    }),
  ];
}

async function cpuSecondsOf(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}
