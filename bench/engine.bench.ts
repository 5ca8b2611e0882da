// Claim (R18, R19): scheduling, sampling, text and events cost at most a tenth of what llama.cpp itself needs. Tokens per CPU-second of
// InferenceEngine against a bare FFI loop on the same library, one thread, greedy, interleaved run by run in one process, so that a busy
// machine slows both. Data: short chat prompts, each answered with a fixed number of tokens.
import { cpus, loadavg } from 'node:os';
import { assert } from '../src/base/index.js';
import { plainSampling } from '../src/platform/index.js';
import type { AssembledEngine } from '../src/shard/index.js';
import type { BenchResult } from './BenchResult.js';
import { modelFile } from './modelFile.js';
import { openBenchEngine } from './openBenchEngine.js';
import { BareDecodeLoop } from './peers/BareDecodeLoop.js';

const sequenceCounts = [1, 4, 8, 16];
const bounds = { sequences: 16, contextTokens: 512, threads: 1 };
const question = 'Tell me a long story about a ship, its captain and the harbour it never reached, with many details.';
const peer = 'bare FFI decode loop';

interface Pair {
  readonly engine: number;
  readonly bare: number;
}

/** Needs the chat and the embedding model in OSTRAKA_TEST_CHAT_MODEL and OSTRAKA_TEST_EMBEDDING_MODEL. Target: geometric mean of the ratios >= 0.9. */
export async function engineBench(options: { readonly quick: boolean }): Promise<BenchResult[]> {
  const load = loadavg()[0] as number;
  const { runs, tokens } = options.quick ? { runs: 3, tokens: 32 } : { runs: 10, tokens: 96 };
  const engine = openBenchEngine(bounds);
  const bare = new BareDecodeLoop({ modelPath: modelFile('OSTRAKA_TEST_CHAT_MODEL').path, ...bounds });
  const prompt = await promptOfLength(engine);
  const pairs = new Map<number, Pair[]>(sequenceCounts.map((count) => [count, []]));
  for (let run = -1; run < runs; run++) {
    for (const count of sequenceCounts) {
      const pair = await measurePair({ engine, bare, prompt, count, tokens, engineFirst: run % 2 === 0 });
      if (run >= 0) pairs.get(count)?.push(pair); // the first run warms up
    }
  }
  await engine.close(new Error('the bench is over'));
  bare.close();
  const results = sequenceCounts.map((count) => resultOf(count, pairs.get(count) ?? [], load));
  return [...results, meanOf(results)];
}

/** Tokens of some text, as many as the engine's rendered prompt has. */
async function promptOfLength(engine: AssembledEngine): Promise<Int32Array> {
  const { signal } = new AbortController();
  for await (const event of engine.generate(request(1), signal)) {
    if (event.kind === 'admitted') return Int32Array.from({ length: event.promptTokens }, (_, index) => 1000 + index * 13);
  }
  throw new Error('a request is admitted');
}

async function measurePair(options: {
  readonly engine: AssembledEngine;
  readonly bare: BareDecodeLoop;
  readonly prompt: Int32Array;
  readonly count: number;
  readonly tokens: number;
  readonly engineFirst: boolean;
}): Promise<Pair> {
  const { engine, bare, prompt, count, tokens, engineFirst } = options;
  const runEngine = (): Promise<number> => tokensPerCpuSecond(() => generateAll(engine, count, tokens));
  const runBare = (): Promise<number> =>
    tokensPerCpuSecond(async () => {
      bare.run(new Array<Int32Array>(count).fill(prompt), tokens);
      return count * tokens;
    });
  if (engineFirst) return { engine: await runEngine(), bare: await runBare() };
  const bareRate = await runBare();
  return { engine: await runEngine(), bare: bareRate };
}

const request = (tokensMax: number) => ({
  requestId: 'bench',
  model: 'default',
  messages: [{ role: 'user' as const, content: question }],
  sampling: { ...plainSampling, tokensMax },
  priority: 'normal' as const,
  streamed: false, // the peer too prefills first and shows no token meanwhile
});

async function generateAll(engine: AssembledEngine, count: number, tokens: number): Promise<number> {
  const generated = await Promise.all(
    Array.from({ length: count }, async () => {
      const { signal } = new AbortController();
      for await (const event of engine.generate(request(tokens), signal)) {
        if (event.kind === 'finished') return event.usage.completionTokens;
      }
      return 0;
    }),
  );
  return generated.reduce((total, some) => total + some, 0);
}

async function tokensPerCpuSecond(work: () => Promise<number>): Promise<number> {
  const before = process.cpuUsage();
  const tokens = await work();
  const { user, system } = process.cpuUsage(before);
  return tokens / ((user + system) / 1e6);
}

const median = (values: readonly number[]): number => [...values].sort((left, right) => left - right)[values.length >> 1] as number;

const machine = `${cpus()[0]?.model ?? 'unknown processor'}, ${cpus().length} cores, Node ${process.version}`;

function resultOf(count: number, pairs: readonly Pair[], load: number): BenchResult {
  const rates = pairs.map(({ engine }) => engine);
  const value = median(rates);
  return {
    name: `engine decode, ${count} sequence${count === 1 ? '' : 's'}`,
    metric: 'tokens per CPU-second, prompts included',
    value,
    unit: 'tokens/CPU-s',
    against: peer,
    ratio: median(pairs.map(({ engine, bare }) => engine / bare)),
    spread: (Math.max(...rates) - Math.min(...rates)) / value,
    runs: pairs.length,
    machine,
    load,
  };
}

function meanOf(results: readonly BenchResult[]): BenchResult {
  const ratio = Math.exp(results.reduce((sum, one) => sum + Math.log(one.ratio), 0) / results.length);
  const [first] = results;
  assert(first !== undefined, 'there are results');
  const ratios = results.map((one) => one.ratio);
  const spread = (Math.max(...ratios) - Math.min(...ratios)) / ratio;
  return { ...first, name: 'engine decode, geometric mean', metric: 'ratio to the bare loop', value: ratio, unit: 'ratio', ratio, spread };
}
