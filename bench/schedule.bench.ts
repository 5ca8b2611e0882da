// Claim (R19): while a prompt of 6,000 tokens is computed, eight running answers keep the stated service level (400 ms between two tokens, 99th
// percentile), and the prompt is not put off for it more than the level needs. Each schedule is an engine of its own on the same model, one
// thread; the schedules take turns run by run, each opened anew (five contexts of this size at once are 9 GB). Streamed answers, since nobody
// reads the tokens of others. Data: short chats that do not end, one long prompt.
import { assert } from '../src/base/index.js';
import { type GenerateEvent, plainSampling } from '../src/platform/index.js';
import type { AssembledEngine } from '../src/shard/index.js';
import type { BenchResult } from './BenchResult.js';
import { measured } from './measured.js';
import { openBenchEngine } from './openBenchEngine.js';

const bounds = { sequences: 9, contextTokens: 8192, threads: 1 };
const running = 8;
const interTokenTargetMs = 400;

const fixed = (rows: number, steps: number) => ({
  pieceRowsUnderLoad: rows,
  pieceRowsUnderLoadMax: rows,
  decodeStepsBetweenPiecesMin: steps,
  decodeStepsBetweenPiecesMax: steps,
});
const schedules = [
  { name: 'default', options: {} },
  { name: 'pieces of 64, 4 steps', options: fixed(64, 4) },
  { name: 'pieces of 64, 2 steps', options: fixed(64, 2) },
  { name: 'pieces of 128, 2 steps', options: fixed(128, 2) },
  { name: 'pieces of 256, 1 step', options: fixed(256, 1) },
] as const;

/** Of a prompt before the measured one, by which an engine learns what steps cost; many enough that the answers go on beside it. */
const wordsBefore = 1_000;

interface Run {
  readonly firstTokenMs: number;
  readonly tokensPerSecond: number;
  readonly gapP99Ms: number;
  readonly gapMaxMs: number;
}

/** Needs the chat and the embedding model in OSTRAKA_TEST_CHAT_MODEL and OSTRAKA_TEST_EMBEDDING_MODEL. */
export async function scheduleBench(options: { readonly quick: boolean }): Promise<BenchResult[]> {
  const { runs, words } = options.quick ? { runs: 3, words: 1_000 } : { runs: 9, words: 6_000 };
  const subjects = schedules.map((schedule) => ({ ...schedule, runs: [] as Run[] }));
  for (let run = 0; run < runs; run++)
    // There and back, so that a machine that slows down or speeds up favours none.
    for (const subject of run % 2 === 0 ? subjects : [...subjects].reverse()) subject.runs.push(await runOf(subject.options, words));
  return subjects.flatMap(({ name, runs: seen }) => resultsOf(name, seen));
}

async function runOf(inference: { readonly [option: string]: number }, words: number): Promise<Run> {
  const engine = openBenchEngine(bounds, { selfCheck: false, ...inference });
  try {
    await measure(engine, wordsBefore); // costs of steps are measured
    return await measure(engine, words);
  } finally {
    await engine.close(new Error('the bench is over'));
  }
}

function resultsOf(schedule: string, runs: readonly Run[]): BenchResult[] {
  const figure = (metric: string, unit: string, pick: (run: Run) => number, target?: number): BenchResult => {
    const values = runs.map(pick);
    const against = target === undefined ? 'itself' : `target of ${target} ${unit}`;
    return measured({
      name: `${schedule}, ${running} answers beside a long prompt`,
      metric,
      unit,
      against,
      values,
      ratioOf: (value) => (target === undefined ? 1 : target / value),
    });
  };
  return [
    figure('time between two tokens, p99', 'ms', ({ gapP99Ms }) => gapP99Ms, interTokenTargetMs),
    figure('longest time between two tokens', 'ms', ({ gapMaxMs }) => gapMaxMs),
    figure('tokens a second of the running answers', 'tokens/s', ({ tokensPerSecond }) => tokensPerSecond),
    figure('time to the first token of the prompt', 'ms', ({ firstTokenMs }) => firstTokenMs),
  ];
}

/** Eight answers run; once all have begun the long prompt comes; what they do until its first token is measured. */
async function measure(engine: AssembledEngine, words: number): Promise<Run> {
  const stop = new AbortController();
  const times: number[][] = Array.from({ length: running }, () => []);
  const answers = times.map(async (seen, index) => {
    try {
      for await (const event of engine.generate(request(`Tell a story about the number ${index}.`, 8_000), stop.signal))
        if (event.kind === 'text') seen.push(performance.now());
    } catch {
      // Ends with the bench: the signal stops it.
    }
  });
  while (times.some((seen) => seen.length < 4)) await nextTurn();
  const beginMs = performance.now();
  const long = `${beginMs} ${' ship'.repeat(words)}`; // a token a word, and no beginning that an earlier run had
  const endMs = await firstTextAt(engine.generate(request(long, 2), new AbortController().signal));
  stop.abort();
  await Promise.all(answers);
  const inside = times.map((seen) => seen.filter((atMs) => atMs >= beginMs && atMs <= endMs));
  const gaps = inside
    .flatMap((seen) => seen.slice(1).map((atMs, index) => atMs - (seen[index] as number)))
    .sort((left, right) => left - right);
  assert(gaps.length > 0, 'the running answers went on');
  return {
    firstTokenMs: endMs - beginMs,
    tokensPerSecond: (1000 * inside.reduce((sum, seen) => sum + seen.length, 0)) / (endMs - beginMs),
    gapP99Ms: gaps[Math.floor(gaps.length * 0.99)] as number,
    gapMaxMs: gaps.at(-1) as number,
  };
}

async function firstTextAt(events: AsyncIterable<GenerateEvent>): Promise<number> {
  let atMs = 0;
  for await (const event of events) if (event.kind === 'text' || event.kind === 'finished') atMs ||= performance.now();
  return atMs;
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const request = (content: string, tokensMax: number) => ({
  requestId: 'bench',
  model: 'default',
  messages: [{ role: 'user' as const, content }],
  sampling: { ...plainSampling, tokensMax, ignoreEnd: true },
  priority: 'normal' as const,
});
