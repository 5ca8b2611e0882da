import type { JsonValue } from '../src/base/index.js';
import { compileConstraint } from '../src/inference/grammar/compileConstraint.js';
import { grammarOptions } from '../src/inference/grammar/options.js';
import { TokenVocabulary } from '../src/inference/grammar/TokenVocabulary.js';
import { plainSampling, type SamplingOptions } from '../src/platform/index.js';
import { LlamaStepBackend } from '../src/platform/node/index.js';
import type { AssembledEngine } from '../src/shard/index.js';
import type { BenchResult } from './BenchResult.js';
import { measured } from './measured.js';
import { modelFile } from './modelFile.js';
import { openBenchEngine } from './openBenchEngine.js';

const bounds = { sequences: 8, contextTokens: 512, threads: 1 };
const question = 'List the captains of the harbour as JSON, each with a name, an age, the ship and a short note.';
const record = {
  type: 'object',
  properties: {
    name: { type: 'string', maxLength: 30 },
    age: { type: 'integer', minimum: 18, maximum: 99 },
    ship: { type: 'object', properties: { name: { type: 'string' }, tons: { type: 'number' } }, required: ['name'] },
    note: { type: 'string', maxLength: 120 },
    rank: { enum: ['captain', 'mate'] },
  },
  required: ['name', 'age', 'note'],
};
const schema: JsonValue = { type: 'array', items: record, minItems: 20 };

const kinds: { readonly [name: string]: Partial<SamplingOptions> } = {
  greedy: {},
  drawn: { temperature: 0.8, seed: 1 },
  'drawn with top-p': { temperature: 0.8, topP: 0.95, seed: 1 },
};

/** Needs the models in OSTRAKA_TEST_CHAT_MODEL and OSTRAKA_TEST_EMBEDDING_MODEL. Target: every ratio >= 0.87 (15 % slower). */
export async function constraintBench(options: { readonly quick: boolean }): Promise<BenchResult[]> {
  const { runs, tokens } = options.quick ? { runs: 3, tokens: 64 } : { runs: 10, tokens: 160 };
  const engine = openBenchEngine(bounds);
  const results: BenchResult[] = [];
  for (const count of [1, 8]) {
    for (const [name, sampling] of Object.entries(kinds)) {
      const ratios: number[] = [];
      for (let run = -1; run < runs; run++) {
        const ratio = await pairRatio(engine, { count, tokens, sampling, freeFirst: run % 2 === 0 });
        if (run >= 0) ratios.push(ratio); // the first run warms up
      }
      const what = {
        name: `constrained, ${name}, ${count} sequence${count === 1 ? '' : 's'}`,
        metric: 'tokens per CPU-second to those of free text',
      };
      results.push(measured({ ...what, unit: 'ratio', values: ratios, against: 'free text', ratioOf: (median) => median }));
    }
  }
  await engine.close(new Error('the bench is over'));
  return [...results, ...preparation(runs)];
}

/** CPU milliseconds for the vocabulary, once a model, and for a schema, once a constraint. */
function preparation(runs: number): BenchResult[] {
  const backend = LlamaStepBackend.open({ model: modelFile('OSTRAKA_TEST_CHAT_MODEL'), ...bounds });
  const { vocabularySize: size, endTokens } = backend.facts;
  const read = (): TokenVocabulary => new TokenVocabulary({ size, endTokens, tokenBytes: (token) => backend.tokenBytes(token) });
  const vocabulary = read();
  const compile = (): void => {
    compileConstraint({ kind: 'jsonSchema', schema }, vocabulary, grammarOptions.parse({})).matcher().allowed();
  };
  const times = (work: () => unknown): number[] => Array.from({ length: runs }, () => cpuMs(work));
  const results = [
    { name: 'vocabulary read', values: times(read), budget: 250 },
    { name: 'schema compiled, first mask', values: times(compile), budget: 20 },
  ].map(({ name, values, budget }) =>
    measured({ name, metric: 'CPU time', unit: 'ms', values, against: `${budget} ms`, ratioOf: (median) => budget / median }),
  );
  backend.close();
  return results;
}

function cpuMs(work: () => unknown): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

interface Pair {
  readonly count: number;
  readonly tokens: number;
  readonly sampling: Partial<SamplingOptions>;
  readonly freeFirst: boolean;
}

async function pairRatio(engine: AssembledEngine, { count, tokens, sampling, freeFirst }: Pair): Promise<number> {
  const common = { ...plainSampling, ...sampling, tokensMax: tokens };
  const free = (): Promise<number> => tokensPerCpuSecond(engine, count, { ...common, ignoreEnd: true });
  const bound = (): Promise<number> => tokensPerCpuSecond(engine, count, { ...common, constraint: { kind: 'jsonSchema', schema } });
  const before = freeFirst ? await free() : undefined;
  const rate = await bound();
  return rate / (before ?? (await free()));
}

async function tokensPerCpuSecond(engine: AssembledEngine, count: number, sampling: SamplingOptions): Promise<number> {
  const before = process.cpuUsage();
  const answers = await Promise.all(Array.from({ length: count }, (_, index) => generate(engine, sampling, index)));
  const { user, system } = process.cpuUsage(before);
  return answers.reduce((total, some) => total + some, 0) / ((user + system) / 1e6);
}

async function generate(engine: AssembledEngine, sampling: SamplingOptions, index: number): Promise<number> {
  const seed = sampling.seed === undefined ? {} : { seed: sampling.seed + index };
  const messages = [{ role: 'user' as const, content: question }];
  const request = { requestId: 'bench', model: 'default', messages, sampling: { ...sampling, ...seed }, priority: 'normal' as const };
  for await (const event of engine.generate(request, new AbortController().signal)) {
    if (event.kind === 'finished') return event.usage.completionTokens;
  }
  return 0;
}
