// Claim (R26, strategy `lookup`): drafts from what was said before win where an answer repeats it, and cost at most 5 % where they are
// wrong. Tokens of answers per CPU-second with drafts against without, one thread, two engines in one process, interleaved run by run:
// answers that fall into repetition at temperature 0, and free stories at temperature 1.2, alone and eight at once.
import { plainSampling, type SamplingOptions } from '../src/platform/index.js';
import type { AssembledEngine } from '../src/shard/index.js';
import type { BenchResult } from './BenchResult.js';
import { measured } from './measured.js';
import { openBenchEngine } from './openBenchEngine.js';

const bounds = { sequences: 8, contextTokens: 512, threads: 1 };
const answerTokens = 128;

interface Work {
  readonly name: string;
  readonly count: number;
  readonly against: string;
  readonly target: number;
  readonly requestOf: (seed: number) => { readonly prompt: string; readonly sampling: Partial<SamplingOptions> };
}

const repeating = (seed: number) => ({
  prompt: ` ${seed}. Names of the months, again and again: January, February, March, April, May, June, July, August, September, October, November, December, January, February, March,`,
  sampling: {},
});
const free = (seed: number) => ({
  prompt: ` ${seed}. A story nobody has told before, about a ship, its captain and the harbour it never reached. One evening`,
  sampling: { temperature: 1.2, seed },
});

const works: readonly Work[] = [1, 8].flatMap((count) => [
  { name: 'repeating answers', count, against: 'a gain at all', target: 1, requestOf: repeating },
  { name: 'free answers', count, against: 'target 0.95', target: 0.95, requestOf: free },
]);

/** Needs the chat and the embedding model in OSTRAKA_TEST_CHAT_MODEL and OSTRAKA_TEST_EMBEDDING_MODEL. */
export async function draftsBench(options: { readonly quick: boolean }): Promise<BenchResult[]> {
  const runs = options.quick ? 3 : 9;
  const drafting = openBenchEngine(bounds);
  const plain = openBenchEngine(bounds, { draftTokensMax: 0 });
  const ratios = works.map((): number[] => []);
  for (let run = -1; run < runs; run++)
    for (const [place, work] of works.entries()) {
      const [first, second] = run % 2 === 0 ? [drafting, plain] : [plain, drafting];
      const rates = [await rateOf(first, work, run), await rateOf(second, work, run)];
      const ratio = (rates[0] as number) / (rates[1] as number);
      if (run >= 0) ratios[place]?.push(run % 2 === 0 ? ratio : 1 / ratio); // the first run warms up
    }
  for (const engine of [drafting, plain]) await engine.close(new Error('the bench is over'));
  return works.map(({ name, count, against, target }, place) =>
    measured({
      name: `drafts, ${name}, ${count} at once`,
      metric: 'tokens per CPU-second with drafts by those without',
      unit: 'x',
      values: ratios[place] as number[],
      against,
      ratioOf: (value) => value / target,
    }),
  );
}

/** Tokens of answers per CPU-second of this process. */
async function rateOf(engine: AssembledEngine, { count, requestOf }: Work, run: number): Promise<number> {
  const before = process.cpuUsage();
  await Promise.all(Array.from({ length: count }, (_, index) => answer(engine, requestOf(100 + 10 * run + index))));
  const { user, system } = process.cpuUsage(before);
  return (count * answerTokens) / ((user + system) / 1e6);
}

async function answer(engine: AssembledEngine, { prompt, sampling }: ReturnType<Work['requestOf']>): Promise<void> {
  const request = {
    requestId: 'bench',
    model: 'default',
    messages: [],
    prompt,
    sampling: { ...plainSampling, tokensMax: answerTokens, ignoreEnd: true, ...sampling },
    priority: 'normal' as const,
    streamed: false,
  };
  for await (const event of engine.generate(request, new AbortController().signal))
    if (event.kind === 'finished' && event.usage.completionTokens !== answerTokens) throw new Error('an answer has another length');
}
