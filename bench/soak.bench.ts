// Claim (R18–R22): half an hour of everything at once leaves nothing behind. One shard with three adapters over HTTP: chats of all lengths, some
// by schema, some by adapter, some given up in the middle, an engine that is killed now and then in the first two thirds. What is refused is
// refused with a code that is documented for it. At the end no page is held in either pool, the memory of the shard, and of the engine that
// lived longest within its life, has not grown by more than 5 % since its first quarter, and every fiftieth answer, asked again alone, is the
// same. Ends with 1 where a row is short of that.
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BenchResult } from './BenchResult.js';
import { measured } from './measured.js';
import { type BenchShard, openBenchShard } from './openBenchShard.js';

const clients = 12;
const rememberedMin = 20;
/** Longest name that the schema allows. */
const nameMax = 20;
const domains = ['legal', 'medical', 'engineering'];
const schema = {
  type: 'object',
  properties: { name: { type: 'string', maxLength: nameMax }, age: { type: 'integer' } },
  required: ['name', 'age'],
  additionalProperties: false,
};

/** What one run is: the killing ends after two thirds, so that one engine lives long enough to be watched. */
interface Plan {
  readonly lastsMs: number;
  readonly killEveryMs: number;
  readonly killUntilMs: number;
  /** Of the answers, one in so many is asked again at the end. */
  readonly rememberEvery: number;
}
const quickPlan: Plan = { lastsMs: 120_000, killEveryMs: 30_000, killUntilMs: 70_000, rememberEvery: 3 };
const fullPlan: Plan = { lastsMs: 1_800_000, killEveryMs: 90_000, killUntilMs: 1_200_000, rememberEvery: 50 };

interface Answer {
  readonly text: string;
  readonly finishReason: string;
}

/** Resident megabytes, one look after another. */
interface Memory {
  readonly shard: number[];
  /** Of each engine, by its process. */
  readonly engines: Map<number, number[]>;
}

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
  /** With a code that is documented for it. */
  refused: number;
  /** Failed with another code, or none. */
  failed: number;
  /** By schema, and among them not of it. */
  bySchema: number;
  wrong: number;
  kills: number;
  /** Refusals and failures by their code. */
  readonly codes: { [code: string]: number };
}

/** Runs for half an hour, `--quick` two minutes. Needs /proc. */
export async function soakBench(options: { readonly quick: boolean }): Promise<BenchResult[]> {
  const plan = options.quick ? quickPlan : fullPlan;
  const adapters = domains.flatMap((domain) => ['--adapter', `${domain}=sample/adapters/${domain}.gguf`]);
  const shard = await openBenchShard(['--sequences', '8', '--context', '2048', ...adapters]);
  const counts: Counts = { asked: 0, answered: 0, givenUp: 0, refused: 0, failed: 0, bySchema: 0, wrong: 0, kills: 0, codes: {} };
  const remembered = new Map<string, string>();
  const beganMs = performance.now();
  const endMs = beganMs + plan.lastsMs;
  const memory: Memory = { shard: [], engines: new Map() };
  try {
    const looks = watchMemory(shard, endMs, memory);
    const kills = killNowAndThen(shard, { everyMs: plan.killEveryMs, endMs: beganMs + plan.killUntilMs }, counts);
    const state = { endMs, counts, remembered, rememberEvery: plan.rememberEvery, documented: documentedCodes() };
    await Promise.all(Array.from({ length: clients }, (_, client) => ask(shard, { seed: client + 1, ...state })));
    await Promise.all([looks, kills]);
    await idle(shard);
    const pages = await heldPages(shard);
    let unlike = 0;
    for (const [body, text] of remembered) if ((await answerOf(shard, JSON.parse(body) as object)).text !== text) unlike++;
    console.error(JSON.stringify({ ...counts, remembered: remembered.size, memory: toPrinted(memory) }));
    const results = resultsOf({ counts, remembered: remembered.size, unlike, pages, memory });
    if (!results.every(({ ratio }) => ratio >= 1)) process.exitCode = 1;
    return results;
  } finally {
    await shard.close();
  }
}

const toPrinted = ({ shard, engines }: Memory): object => ({
  shard: shard.map(Math.round),
  engines: [...engines.values()].map((life) => life.map(Math.round)),
});

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
  state: {
    readonly seed: number;
    readonly endMs: number;
    readonly counts: Counts;
    readonly remembered: Map<string, string>;
    readonly rememberEvery: number;
    readonly documented: ReadonlySet<string>;
  },
): Promise<void> {
  const next = numbers(state.seed);
  const { counts } = state;
  while (performance.now() < state.endMs) {
    const question = questionOf(next, state.seed);
    counts.asked++;
    try {
      if (question.givesUp) await giveUp(shard, question.body);
      else {
        const answer = await answerOf(shard, question.body);
        counts.answered++;
        if (question.isJson) counts.bySchema++;
        if (question.isJson && !isOfSchema(answer)) counts.wrong++;
        if (counts.answered % state.rememberEvery === 0) state.remembered.set(JSON.stringify(question.body), answer.text);
      }
      if (question.givesUp) counts.givenUp++;
    } catch (error) {
      const code = codeOf(error);
      if (state.documented.has(code))
        counts.refused++; // the engine was killed under it, or is starting
      else counts.failed++;
      counts.codes[code] = (counts.codes[code] ?? 0) + 1;
      await sleep(1_000); // as it is told by Retry-After
    }
  }
}

const codeOf = (error: unknown): string => /"code":\s*"(\w+)"/.exec(String(error))?.[1] ?? String(error).slice(0, 80);

/** Those of the reference that ask for another try (429, 503): a chat that meets a killed engine or a full queue ends with one of them. */
function documentedCodes(): ReadonlySet<string> {
  const rows = readFileSync('docs/reference/errors.md', 'utf8').matchAll(/^\| `(\w+)` \| (?:429|503) \| \S+ \| yes /gm);
  return new Set([...rows].map(([, code = '']) => code.toLowerCase()));
}

/** A whole answer is a value of the schema; one that max_tokens cut is its beginning. */
function isOfSchema({ text, finishReason }: Answer): boolean {
  if (finishReason === 'length') return /^\s*\{/.test(text);
  if (finishReason !== 'stop') return false;
  try {
    return isPerson(JSON.parse(text));
  } catch {
    return false;
  }
}

/** Written by hand after `schema`: the engine's own reading of it is what is tested. */
function isPerson(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Object.keys(value).sort().join() !== 'age,name') return false;
  const { name, age } = value as { readonly name: unknown; readonly age: unknown };
  return typeof name === 'string' && [...name].length <= nameMax && Number.isInteger(age);
}

async function post(shard: BenchShard, body: object, signal?: AbortSignal): Promise<Response> {
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  const response = await fetch(`${shard.url}/v1/chat/completions`, signal === undefined ? init : { ...init, signal });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  return response;
}

async function answerOf(shard: BenchShard, body: object): Promise<Answer> {
  const answer = (await (await post(shard, body)).json()) as {
    readonly choices: readonly [{ readonly message: { readonly content: string }; readonly finish_reason: string }];
  };
  const [{ message, finish_reason }] = answer.choices;
  return { text: message.content, finishReason: finish_reason };
}

async function giveUp(shard: BenchShard, body: object): Promise<void> {
  const stop = new AbortController();
  const response = await post(shard, { ...body, stream: true }, stop.signal);
  await response.body?.getReader().read();
  stop.abort();
}

async function killNowAndThen(
  shard: BenchShard,
  { everyMs, endMs }: { readonly everyMs: number; readonly endMs: number },
  counts: Counts,
): Promise<void> {
  while (performance.now() + everyMs < endMs) {
    await sleep(everyMs);
    const pid = enginePid(shard);
    if (pid !== undefined) process.kill(pid, 'SIGKILL');
    counts.kills++;
  }
}

/** The engine is the child of the shard. */
function enginePid({ pid }: BenchShard): number | undefined {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean);
  return children.length === 0 ? undefined : Number(children[0]);
}

async function watchMemory(shard: BenchShard, endMs: number, memory: Memory): Promise<void> {
  while (performance.now() < endMs) {
    const megabytes = residentMegabytes(shard.pid);
    if (megabytes !== undefined) memory.shard.push(megabytes);
    lookAtEngine(shard, memory.engines);
    await sleep(2_000);
  }
}

function lookAtEngine(shard: BenchShard, engines: Map<number, number[]>): void {
  const pid = enginePid(shard);
  const megabytes = pid === undefined ? undefined : residentMegabytes(pid);
  if (pid === undefined || megabytes === undefined) return;
  engines.set(pid, [...(engines.get(pid) ?? []), megabytes]);
}

/** Undefined: it ends just now. */
function residentMegabytes(pid: number): number | undefined {
  try {
    const kilobytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return kilobytes === undefined ? undefined : Number(kilobytes) / 1000;
  } catch {
    return undefined;
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

interface HeldPages {
  readonly cells: number;
  readonly store: number;
}

async function heldPages(shard: BenchShard): Promise<HeldPages> {
  await sleep(2_000); // the figures of the engine come once a second
  const text = await (await fetch(`${shard.url}/metrics`)).text();
  const held = (pool: string): number =>
    Number(new RegExp(`^kv_pages\\{pool="${pool}",state="held"\\} (\\d+)$`, 'm').exec(text)?.[1] ?? Number.NaN);
  return { cells: held('cells'), store: held('store') };
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);

function resultsOf(found: {
  readonly counts: Counts;
  readonly remembered: number;
  readonly unlike: number;
  readonly pages: HeldPages;
  readonly memory: Memory;
}): BenchResult[] {
  const { asked, answered, givenUp, refused, failed, bySchema, wrong, kills } = found.counts;
  const name = `soak: ${asked} requests, ${answered} answered, ${givenUp} given up, ${refused} refused, ${kills} engines killed`;
  const lives = [...found.memory.engines.values()];
  const longest = lives.reduce<readonly number[]>((best, life) => (life.length > best.length ? life : best), []);
  const atMost = (metric: string, unit: string, value: number, limit: number): BenchResult =>
    measured({
      name,
      metric,
      unit,
      values: [value],
      against: `at most ${limit}`,
      ratioOf: (each) => (each <= limit ? 1 : limit / each), // a value that is not there is over the limit
    });
  return [
    atMost('growth of the memory of the shard from its second quarter to its last', 'share', growthOf(found.memory.shard), 0.05),
    atMost(
      `growth of the memory of the engine that lived longest of ${lives.length}, from its second quarter to its last`,
      'share',
      growthOf(longest),
      0.05,
    ),
    atMost('pages of the cells held when idle', 'pages', found.pages.cells, 0),
    atMost('pages of the store held when idle', 'pages', found.pages.store, 0),
    atMost(`answers that differ when asked again alone, of ${found.remembered}`, 'answers', found.unlike, 0),
    measured({
      name,
      metric: 'answers that were remembered to be asked again',
      unit: 'answers',
      values: [found.remembered],
      against: `at least ${rememberedMin}`,
      ratioOf: (value) => Math.min(1, value / rememberedMin),
    }),
    atMost(`answers by a schema that are not of it, of ${bySchema}`, 'answers', wrong, 0),
    atMost('failures with a code that is not documented for it', 'answers', failed, 0),
  ];
}

/** Between the means of two quarters: the first is the time in which caches fill. */
function growthOf(looks: readonly number[]): number {
  const quarter = Math.floor(looks.length / 4);
  return quarter === 0 ? Number.NaN : mean(looks.slice(-quarter)) / mean(looks.slice(quarter, 2 * quarter)) - 1;
}
