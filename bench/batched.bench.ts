// Claim (R19): our whole scheduler, with sampling, text and events, costs at most 5 % beside llama.cpp's own batched bench on the same libraries,
// file and one thread: tokens (of prompts and answers) per CPU-second at 1, 4, 8 and 16 sequences, 128 tokens of prompt and 128 of answer
// each, without drafts (the peer has none; `drafts` measures them). The peer's loading of the model is measured apart and taken off.
// Interleaved run by run.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { plainSampling } from '../src/platform/index.js';
import type { AssembledEngine } from '../src/shard/index.js';
import type { BenchResult } from './BenchResult.js';
import { measured } from './measured.js';
import { modelFile } from './modelFile.js';
import { openBenchEngine } from './openBenchEngine.js';
import { peerPrograms } from './peerPrograms.js';

const counts = [1, 4, 8, 16];
const bounds = { sequences: 16, contextTokens: 512, threads: 1 };
const each = { prompt: 128, answer: 128 };
const target = 0.95;

interface Pair {
  readonly ours: number;
  readonly peer: number;
}

/** Needs the chat and the embedding model in OSTRAKA_TEST_CHAT_MODEL and OSTRAKA_TEST_EMBEDDING_MODEL, and what builds the peer. */
export async function batchedBench(options: { readonly quick: boolean }): Promise<BenchResult[]> {
  const runs = options.quick ? 2 : 9;
  const folder = peerPrograms();
  const engine = openBenchEngine(bounds, { draftTokensMax: 0 });
  const pairs = new Map<number, Pair[]>(counts.map((count) => [count, []]));
  const loading = peerSeconds(folder, { count: 1, prompt: 1, answer: 1 });
  for (let run = -1; run < runs; run++)
    for (const count of counts) {
      const total = count * (each.prompt + each.answer);
      const peer = (): number => total / (peerSeconds(folder, { count, ...each }) - loading);
      const ours = async (): Promise<number> => total / (await ourSeconds(engine, count, run));
      const pair = run % 2 === 0 ? { peer: peer(), ours: await ours() } : { ours: await ours(), peer: peer() };
      if (run >= 0) pairs.get(count)?.push(pair); // the first run warms up
    }
  await engine.close(new Error('the bench is over'));
  const results = [...pairs].map(([count, list]) => resultOf(`${count} sequence${count === 1 ? '' : 's'}`, list));
  const mean = Math.exp(results.reduce((sum, { ratio }) => sum + Math.log(ratio), 0) / results.length);
  const all = { name: 'batched, geometric mean', metric: 'ratio to llama-batched-bench', unit: 'ratio', values: [mean] };
  return [...results, measured({ ...all, against: `target ${target}`, ratioOf: (value) => value / target })];
}

const median = (values: readonly number[]): number => [...values].sort((left, right) => left - right)[values.length >> 1] as number;

function resultOf(name: string, pairs: readonly Pair[]): BenchResult {
  const values = pairs.map(({ ours }) => ours);
  const peer = median(pairs.map((pair) => pair.peer));
  const ratio = median(pairs.map((pair) => pair.ours / pair.peer));
  return measured({
    name: `batched, ${name}`,
    metric: 'tokens per CPU-second',
    unit: 'tokens/CPU-s',
    values,
    against: `llama-batched-bench (${peer.toFixed(1)})`,
    ratioOf: () => ratio,
  });
}

/** CPU seconds of one run of the peer, its start included. */
function peerSeconds(folder: string, size: { readonly count: number; readonly prompt: number; readonly answer: number }): number {
  const { path } = modelFile('OSTRAKA_TEST_CHAT_MODEL');
  const shape = `-npp ${size.prompt} -ntg ${size.answer} -npl ${size.count} -c ${bounds.sequences * bounds.contextTokens}`;
  // -b and -ub are its defaults, and of the usual sizes take it the least time; `server` runs it with the same.
  const command = `./llama-batched-bench -m "$MODEL" ${shape} -b 2048 -ub 512 -t 1 -tb 1 --no-kv-unified`;
  const env = { ...process.env, MODEL: path, TIMEFORMAT: '%U %S' };
  const { stderr, status } = spawnSync('bash', ['-c', `time ${command} >/dev/null 2>/dev/null`], {
    cwd: join(folder),
    env,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`llama-batched-bench failed: ${stderr}`);
  const [user = 0, system = 0] = stderr.trim().split('\n').at(-1)?.split(' ').map(Number) ?? [];
  return user + system;
}

/** CPU seconds of this process for as many requests at once. */
async function ourSeconds(engine: AssembledEngine, count: number, run: number): Promise<number> {
  const before = process.cpuUsage();
  await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      // A token a word; the first two differ from those of all others, so that no prefix is shared.
      const prompt = ` ${run + 10} ${index}${' ship'.repeat(each.prompt)}`;
      for await (const event of engine.generate(requestOf(prompt), new AbortController().signal))
        if (event.kind === 'finished' && event.usage.completionTokens !== each.answer) throw new Error('an answer has another length');
    }),
  );
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

const requestOf = (prompt: string) => ({
  requestId: 'bench',
  model: 'default',
  messages: [],
  prompt,
  sampling: { ...plainSampling, tokensMax: each.answer, ignoreEnd: true },
  priority: 'normal' as const,
  streamed: false, // the peer too prefills first and shows no token meanwhile
});
