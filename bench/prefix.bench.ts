import { assert } from '../src/base/index.js';
import { plainSampling } from '../src/platform/index.js';
import { LlamaStepBackend } from '../src/platform/node/index.js';
import type { AssembledEngine } from '../src/shard/index.js';
import type { BenchResult } from './BenchResult.js';
import { measured } from './measured.js';
import { modelFile } from './modelFile.js';
import { openBenchEngine } from './openBenchEngine.js';

const bounds = { sequences: 2, contextTokens: 1280, threads: 1 };
const targets = [
  { tokens: 256, ofCold: 0.28 },
  { tokens: 1024, ofCold: 0.11 },
] as const;
const ofBare = 1.15;
const restRows = 64;

interface Times {
  readonly cold: number;
  readonly warm: number;
  readonly bare: number;
}

/** Needs the chat and the embedding model in OSTRAKA_TEST_CHAT_MODEL and OSTRAKA_TEST_EMBEDDING_MODEL. */
export async function prefixBench(options: { readonly quick: boolean }): Promise<BenchResult[]> {
  const runs = options.quick ? 3 : 9;
  const engine = openBenchEngine(bounds);
  const bare = LlamaStepBackend.open({ model: modelFile('OSTRAKA_TEST_CHAT_MODEL'), ...bounds });
  const results: BenchResult[] = [];
  for (const { tokens, ofCold } of targets) {
    const times: Times[] = [];
    for (let run = -1; run < runs; run++) {
      const prompt = promptOf(bare, tokens, run);
      const one = {
        cold: await firstTokenMs(engine, prompt, 0),
        warm: await firstTokenMs(engine, prompt, tokens - restRows),
        bare: barePrefillMs(bare, prompt),
      };
      if (run >= 0) times.push(one); // the first run warms up
    }
    results.push(
      ratioOf(`second request of ${tokens} tokens against the first`, times, ({ warm, cold }) => warm / cold, ofCold),
      ratioOf(
        `second request of ${tokens} tokens against bare prefill of ${restRows} rows`,
        times,
        (each) => each.warm / each.bare,
        ofBare,
      ),
    );
  }
  await engine.close(new Error('the bench is over'));
  bare.close();
  return results;
}

const ratioOf = (name: string, times: readonly Times[], ratio: (times: Times) => number, target: number): BenchResult =>
  measured({
    name,
    metric: 'ratio of times to the first token',
    unit: 'x',
    values: times.map(ratio),
    against: `the target of ${target}`,
    ratioOf: (median) => median / target,
  });

/** A text of exactly so many tokens that no earlier run began with. */
function promptOf(backend: LlamaStepBackend, tokens: number, run: number): string {
  const words = `${run} run ${tokens} `.repeat(3) + 'The harbour keeps a log of ships, and every ship has a name. '.repeat(tokens / 8);
  const ids = backend.tokenize(words, { parseSpecial: false }).subarray(0, tokens);
  const text = Buffer.concat([...ids].map((id) => backend.tokenBytes(id))).toString('utf8');
  assert(backend.tokenize(text, { parseSpecial: false }).length === tokens, 'a prompt has the tokens it was cut to');
  return text;
}

async function firstTokenMs(engine: AssembledEngine, prompt: string, cachedTokens: number): Promise<number> {
  const request = {
    requestId: 'bench',
    model: 'default',
    messages: [],
    prompt,
    sampling: { ...plainSampling, tokensMax: 1, ignoreEnd: true },
    priority: 'normal' as const,
  };
  for await (const event of engine.generate(request, new AbortController().signal)) {
    if (event.kind !== 'finished') continue;
    assert(event.usage.cachedTokens === cachedTokens, 'what was cached is what is measured', { ...event.usage });
    return event.timing.firstTokenMs;
  }
  throw new Error('a generation ends with a finished event');
}

/** The last rows of the prompt behind the others, timed alone. */
function barePrefillMs(backend: LlamaStepBackend, prompt: string): number {
  const tokens = backend.tokenize(prompt, { parseSpecial: false });
  const decode = (from: number, to: number): void => {
    const rows = [...tokens.subarray(from, to)];
    backend.decode(rows.map((token, i) => ({ token, position: from + i, sequence: 0, wantLogits: from + i === tokens.length - 1 })));
  };
  const start = tokens.length - restRows;
  for (let from = 0; from < start; from += restRows) decode(from, Math.min(start, from + restRows));
  const startedMs = performance.now();
  decode(start, tokens.length);
  const endedMs = performance.now();
  backend.truncateSequence(0, 0);
  return endedMs - startedMs;
}
