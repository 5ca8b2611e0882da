// Claim (R18–R22): half an hour of everything at once leaves nothing behind. One shard with three adapters over HTTP: chats of all lengths, some
// by schema, some by adapter, some given up in the middle, an engine that is killed now and then. At the end no page is held, memory has
// not grown by more than 5 % since the first quarter, and every fiftieth answer, asked again alone, is the same.
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BenchResult } from './BenchResult.js';
import { measured } from './measured.js';
import { type BenchShard, openBenchShard } from './openBenchShard.js';

const clients = 12;
const killEveryMs = 90_000;
const rememberEvery = 50;
const domains = ['legal', 'medical', 'engineering'];
const schema = {
  type: 'object',
  properties: { name: { type: 'string', maxLength: 20 }, age: { type: 'integer' } },
  required: ['name', 'age'],
  additionalProperties: false,
};

interface Question {
  readonly body: { readonly [field: string]: unknown };
  /** Read only so many bytes of the stream, then hang up. */
  readonly givesUp: boolean;
  readonly isJson: boolean;
}

interface Counts {
  asked: number;
  answered: number;
  givenUp: number;
  refused: number;
  wrong: number;
  kills: number;
  /** Refusals by their code. */
  readonly codes: { [code: string]: number };
}

/** Runs for half an hour, `--quick` two minutes. */
export async function soakBench(options: { readonly quick: boolean }): Promise<BenchResult[]> {
  const lastsMs = options.quick ? 120_000 : 1_800_000;
  const adapters = domains.flatMap((domain) => ['--adapter', `${domain}=sample/adapters/${domain}.gguf`]);
  const shard = await openBenchShard(['--sequences', '8', '--context', '2048', ...adapters]);
  const counts: Counts = { asked: 0, answered: 0, givenUp: 0, refused: 0, wrong: 0, kills: 0, codes: {} };
  const remembered = new Map<string, string>();
  const endMs = performance.now() + lastsMs;
  const memory: number[] = [];
  try {
    const looks = watchMemory(shard, endMs, memory);
    const kills = killNowAndThen(shard, endMs, counts);
    await Promise.all(Array.from({ length: clients }, (_, client) => ask(shard, { seed: client + 1, endMs, counts, remembered })));
    await Promise.all([looks, kills]);
    await idle(shard);
    const pages = await heldPages(shard);
    let unlike = 0;
    for (const [body, text] of remembered) if ((await answerOf(shard, JSON.parse(body) as object)) !== text) unlike++;
    console.error(JSON.stringify({ ...counts, remembered: remembered.size, memory: memory.map(Math.round) }));
    return resultsOf({ counts, remembered: remembered.size, unlike, pages, memory });
  } finally {
    await shard.close();
  }
}

/** A generator of its own a client: the same questions each time. */
const numbers = (seed: number) => {
  let state = seed;
  return (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
};

function questionOf(next: (below: number) => number, client: number): Question {
  const isJson = next(5) === 0;
  const domain = next(3) === 0 ? domains[next(3)] : undefined;
  const words = next(8) === 0 ? 900 : 5 + next(120);
  const content = `${client} ${next(1000)}: tell of the${' harbour'.repeat(words)}${isJson ? ' as JSON' : ''}.`;
  const constraint = isJson && { response_format: { type: 'json_schema', json_schema: { name: 'person', schema } } };
  const sampled = next(2) === 0 ? { temperature: 0 } : { temperature: 0.8, seed: next(1000) };
  const body = {
    model: 'default',
    messages: [{ role: 'user', content }],
    max_tokens: 8 + next(60),
    ...sampled,
    ...constraint,
    ...(domain && { domain, domain_fallback: 'fail' }),
  };
  return { body, givesUp: next(6) === 0, isJson };
}

async function ask(
  shard: BenchShard,
  state: { readonly seed: number; readonly endMs: number; readonly counts: Counts; readonly remembered: Map<string, string> },
): Promise<void> {
  const next = numbers(state.seed);
  const { counts } = state;
  while (performance.now() < state.endMs) {
    const question = questionOf(next, state.seed);
    const number = counts.asked++;
    try {
      if (question.givesUp) await giveUp(shard, question.body);
      else {
        const text = await answerOf(shard, question.body);
        counts.answered++;
        if (question.isJson && !isWholeOrCut(text)) counts.wrong++;
        if (number % rememberEvery === 0) state.remembered.set(JSON.stringify(question.body), text);
      }
      if (question.givesUp) counts.givenUp++;
    } catch (error) {
      counts.refused++; // the engine was killed under it, or is starting
      const code = /"code":"(\w+)"/.exec(String(error))?.[1] ?? String(error).slice(0, 80);
      counts.codes[code] = (counts.codes[code] ?? 0) + 1;
      await sleep(1_000); // as it is told by Retry-After
    }
  }
}

/** An object by the schema, or its beginning where max_tokens cut it. */
const isWholeOrCut = (text: string): boolean => /^\s*\{/.test(text);

async function post(shard: BenchShard, body: object, signal?: AbortSignal): Promise<Response> {
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  const response = await fetch(`${shard.url}/v1/chat/completions`, signal === undefined ? init : { ...init, signal });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  return response;
}

async function answerOf(shard: BenchShard, body: object): Promise<string> {
  const answer = (await (await post(shard, body)).json()) as {
    readonly choices: readonly [{ readonly message: { readonly content: string } }];
  };
  return answer.choices[0].message.content;
}

async function giveUp(shard: BenchShard, body: object): Promise<void> {
  const stop = new AbortController();
  const response = await post(shard, { ...body, stream: true }, stop.signal);
  await response.body?.getReader().read();
  stop.abort();
}

async function killNowAndThen(shard: BenchShard, endMs: number, counts: Counts): Promise<void> {
  while (performance.now() + killEveryMs < endMs) {
    await sleep(killEveryMs);
    const pid = await enginePid(shard);
    if (pid !== undefined) process.kill(pid, 'SIGKILL');
    counts.kills++;
  }
}

/** The engine is the child of the shard. */
async function enginePid({ pid }: BenchShard): Promise<number | undefined> {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean);
  return children.length === 0 ? undefined : Number(children[0]);
}

async function watchMemory({ pid }: BenchShard, endMs: number, memory: number[]): Promise<void> {
  while (performance.now() < endMs) {
    memory.push(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1000);
    await sleep(2_000);
  }
}

async function idle(shard: BenchShard): Promise<void> {
  for (let tries = 0; tries < 300; tries++) {
    const text = await (await fetch(`${shard.url}/metrics`)).text();
    if (/^pending_llm_requests 0$/m.test(text)) return;
    await sleep(200);
  }
  throw new Error('the shard is never idle');
}

async function heldPages(shard: BenchShard): Promise<number> {
  await sleep(2_000); // the figures of the engine come once a second
  const text = await (await fetch(`${shard.url}/metrics`)).text();
  return Number(/^kv_pages\{pool="cells",state="held"\} (\d+)$/m.exec(text)?.[1] ?? Number.NaN);
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);

function resultsOf(found: {
  readonly counts: Counts;
  readonly remembered: number;
  readonly unlike: number;
  readonly pages: number;
  readonly memory: readonly number[];
}): BenchResult[] {
  const quarter = Math.floor(found.memory.length / 4);
  const growth = mean(found.memory.slice(-quarter)) / mean(found.memory.slice(quarter, 2 * quarter)) - 1;
  const { asked, answered, givenUp, refused, wrong, kills } = found.counts;
  const name = `soak: ${asked} requests, ${answered} answered, ${givenUp} given up, ${refused} refused, ${kills} engines killed`;
  const figure = (metric: string, unit: string, value: number, limit: number): BenchResult =>
    measured({
      name,
      metric,
      unit,
      values: [value],
      against: `the limit of ${limit}`,
      ratioOf: (each) => (each <= limit ? 1 : limit / each),
    });
  return [
    figure('growth of the memory of the shard from its second quarter to its last', 'share', growth, 0.05),
    figure('pages held when idle', 'pages', found.pages, 0),
    figure(`answers that differ when asked again alone, of ${found.remembered}`, 'answers', found.unlike, 0),
    figure('answers by a schema that are not of it', 'answers', wrong, 0),
  ];
}
