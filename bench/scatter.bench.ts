// Claim (R25, paper Table II row 2): 64 prompts of 64 tokens each as one scatter over four shards against one shard that answers them one
// after another (target 4 times as many tokens a second; paper 2), and against one shard that answers them together on the same cores
// (target 0.9). AQL INFER over 64 rows, shards as `up` starts them, interleaved run by run; tokens as the answers count them.
import type { BenchResult } from './BenchResult.js';
import { measured } from './measured.js';
import { type BenchShard, openBenchShard } from './openBenchShard.js';

const answerTokens = 64;

interface Rates {
  readonly scattered: number;
  readonly serial: number;
  readonly together: number;
}

export async function scatterBench(options: { readonly quick: boolean }): Promise<BenchResult[]> {
  const { rows, runs } = options.quick ? { rows: 16, runs: 1 } : { rows: 64, runs: 5 };
  const four = await openBenchShard(['--shards', '4']);
  const one = await openBenchShard(['--port', String(40_000 + (process.pid % 20_000))]);
  const rates: Rates[] = [];
  let serial = 0;
  try {
    for (let run = -1; run < runs; run++) {
      const topics = (count: number): readonly string[] => Array.from({ length: count }, () => `the ship number ${serial++}`);
      const measuredRates = {
        scattered: await rateOf(four, topics(rows)),
        serial: await serialRate(one, topics(run < 0 ? 2 : rows)),
        together: await rateOf(one, topics(rows)),
      };
      if (run >= 0) rates.push(measuredRates); // the first run warms up
    }
  } finally {
    await four.close();
    await one.close();
  }
  const result = (against: string, target: number, ratio: (rates: Rates) => number): BenchResult =>
    measured({
      name: `${rows} prompts of ${answerTokens} tokens, scattered over 4 shards`,
      metric: `tokens a second by those of ${against}`,
      unit: 'x',
      values: rates.map(ratio),
      against: `the target of ${target}`,
      ratioOf: (median) => median / target,
    });
  return [
    result('one shard, one after another', 4, ({ scattered, serial: alone }) => scattered / alone),
    result('one shard, together', 0.9, ({ scattered, together }) => scattered / together),
  ];
}

async function serialRate(shard: BenchShard, topics: readonly string[]): Promise<number> {
  const startedMs = performance.now();
  let tokens = 0;
  for (const topic of topics) tokens += await tokensOf(shard, [topic]);
  return (tokens * 1000) / (performance.now() - startedMs);
}

async function rateOf(shard: BenchShard, topics: readonly string[]): Promise<number> {
  const startedMs = performance.now();
  return ((await tokensOf(shard, topics)) * 1000) / (performance.now() - startedMs);
}

/** Tokens of the answers to one query with a row a topic. */
async function tokensOf({ url }: BenchShard, topics: readonly string[]): Promise<number> {
  const query = `FOR topic IN @topics
    LET answer = INFER 'default' CONCAT('Tell a long story about ', topic, ' with many details.')
      OPTIONS {max_tokens: ${answerTokens}, detail: true, timeout_ms: 300000}
    RETURN answer.usage.completion`;
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${url}/_api/cursor`, { method: 'POST', headers, body: JSON.stringify({ query, bindVars: { topics } }) });
  const { result, errorMessage } = (await response.json()) as { readonly result?: readonly number[]; readonly errorMessage?: string };
  if (result === undefined || result.some((tokens) => typeof tokens !== 'number'))
    throw new Error(`the query failed: ${errorMessage ?? 'rows'}`);
  return result.reduce((sum, tokens) => sum + tokens, 0);
}
