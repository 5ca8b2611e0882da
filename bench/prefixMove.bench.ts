// Claim (R27, paper Table II row 5): a prompt whose beginning another shard has computed is answered by moving its rows here. Time to the
// first token, moving included, against a cold prefill of an equally long prompt and against a prefix that is here already; one interleaved
// run over 128…2048 tokens and links of 0, 1 and 5 ms (one way), two engine children, HTTP/2 with mutual TLS, one thread each; and over a
// link of 50 Mbit/s, where computing takes less than moving and moving is declined.
import { asId, type ShardId } from '../src/base/index.js';
import { cooperationOptions, declareCooperationMetrics, PrefixFetcher, prefixMethods } from '../src/cooperation/index.js';
import type { TopologyMember } from '../src/membership/index.js';
import { type GenerateRequest, type LaunchedEngine, type ModelService, plainSampling } from '../src/platform/index.js';
import { ChildEngineLauncher, NodeClock, PinoLogger, PrometheusMetrics } from '../src/platform/node/index.js';
import type { BenchResult } from './BenchResult.js';
import type { LinkShape } from './DelayLink.js';
import { measured } from './measured.js';
import { modelFile } from './modelFile.js';
import { openPeerPair } from './openPeerPair.js';

const shape = { sequences: 2, contextTokens: 2304, threads: 1, queueRequestsMax: 16 };
/** Tokens of the prompt, and the largest share of a cold prefill that is aimed at, where the issue of the product names one. */
const sizes: readonly { readonly tokens: number; readonly ofCold?: number }[] = [
  { tokens: 128 },
  { tokens: 256, ofCold: 0.3 },
  { tokens: 512 },
  { tokens: 1024, ofCold: 0.11 },
  { tokens: 2048, ofCold: 0.06 },
];
const ofHit = 1.2;
const slowLink = { delayMs: 0, bytesPerMs: 6_250 };
const { signal } = new AbortController();

interface Times {
  readonly cold: number;
  readonly moved: number;
  readonly hit: number;
  readonly outcome: string;
}

/** Needs the chat and the embedding model in OSTRAKA_TEST_CHAT_MODEL and OSTRAKA_TEST_EMBEDDING_MODEL, and the build. */
export async function prefixMoveBench(options: { readonly quick: boolean }): Promise<BenchResult[]> {
  const runs = options.quick ? 3 : 9;
  const wanted = options.quick ? sizes.filter(({ tokens }) => tokens === 256 || tokens === 1024) : sizes;
  const links: readonly LinkShape[] = options.quick ? [{ delayMs: 0 }] : [0, 1, 5].map((delayMs) => ({ delayMs }));
  const engines = await Promise.all([launch(), launch()]);
  const results: BenchResult[] = [];
  let serial = 0;
  const next = (): number => serial++;
  try {
    for (const link of links) results.push(...(await overLink(engines, link, { runs, wanted, next })));
    results.push(await declined(engines, { runs: Math.min(runs, 5), next }));
  } finally {
    for (const engine of engines) await engine.stop();
  }
  return results;
}

const launch = (): Promise<LaunchedEngine> => {
  const logger = PinoLogger.open({ level: 'warn', destination: 2 });
  const [chatModel, embeddingModel] = [modelFile('OSTRAKA_TEST_CHAT_MODEL'), modelFile('OSTRAKA_TEST_EMBEDDING_MODEL')];
  const launcher = new ChildEngineLauncher({ engineMainPath: 'dist/src/cli/engineMain.js', stopMsMax: 3000, logger });
  return launcher.launch({ chatModel, embeddingModel, ...shape }, signal);
};

async function overLink(
  engines: readonly LaunchedEngine[],
  link: LinkShape,
  { runs, wanted, next }: { readonly runs: number; readonly wanted: typeof sizes; readonly next: () => number },
): Promise<BenchResult[]> {
  const pair = await openPair(engines, link);
  const times = new Map<number, Times[]>(wanted.map(({ tokens }) => [tokens, []]));
  for (let run = -1; run < runs; run++)
    for (const { tokens } of wanted) {
      const one = await measure(pair, tokens, next);
      if (one.outcome !== 'moved') throw new Error(`a prefix of ${tokens} tokens was not moved over ${link.delayMs} ms: ${one.outcome}`);
      if (run >= 0) times.get(tokens)?.push(one); // the first run warms up
    }
  await pair.close();
  return wanted.flatMap(({ tokens, ofCold }) => resultsOf({ tokens, ofCold, link, times: times.get(tokens) ?? [] }));
}

function resultsOf(of: { tokens: number; ofCold: number | undefined; link: LinkShape; times: readonly Times[] }): BenchResult[] {
  const name = `prefix of ${of.tokens} tokens from a shard ${of.link.delayMs} ms away`;
  const result = (metric: string, ratio: (times: Times) => number, target: number | undefined): BenchResult =>
    measured({
      name,
      metric,
      unit: 'x',
      values: of.times.map(ratio),
      against: target === undefined ? 'computing it' : `the target of ${target}`,
      ratioOf: (median) => median / (target ?? 1),
    });
  return [
    result('time to the first token by that of a cold prefill', ({ moved, cold }) => moved / cold, of.ofCold),
    result('time to the first token by that of a local hit', ({ moved, hit }) => moved / hit, ofHit),
  ];
}

/** On a link that is slower than the processor the shard learns to compute: then it is as quick as if there were no other. */
async function declined(
  engines: readonly LaunchedEngine[],
  { runs, next }: { readonly runs: number; readonly next: () => number },
): Promise<BenchResult> {
  const pair = await openPair(engines, slowLink);
  const values: number[] = [];
  for (let run = -2; run < runs; run++) {
    const { cold, moved, outcome } = await measure(pair, 1024, next);
    if (run < 0) continue; // it learns what the link costs
    if (outcome === 'moved') throw new Error('a prefix was moved over a link that is slower than computing it');
    values.push(moved / cold);
  }
  await pair.close();
  return measured({
    name: 'prefix of 1024 tokens behind 50 Mbit/s, declined',
    metric: 'time to the first token by that of a cold prefill',
    unit: 'x',
    values,
    against: 'the bound of 1.05',
    ratioOf: (median) => median / 1.05,
  });
}

type Pair = Awaited<ReturnType<typeof openPair>>;

/** A fetcher for the first engine that may ask the second over the link. */
async function openPair([own, other]: readonly LaunchedEngine[], link: LinkShape) {
  const [asker, holder] = [own as LaunchedEngine, other as LaunchedEngine].map(({ modelService }) => modelService) as [
    ModelService,
    ModelService,
  ];
  const options = cooperationOptions.parse({});
  const outcomes: string[] = [];
  const declaredMetrics = declareCooperationMetrics(new PrometheusMetrics());
  const metrics = {
    ...declaredMetrics,
    prefixTransfers: { add: (_: number, labels: { readonly [label: string]: string } = {}) => void outcomes.push(labels['outcome'] ?? '') },
  };
  const member = (shardId: string, service: ModelService): TopologyMember => ({
    shardId: asId<ShardId>(shardId),
    incarnation: 1,
    address: { host: '127.0.0.1', port: 1 },
    httpUrl: '',
    health: 'alive',
    ready: true,
    models: [],
    announcements: [],
    load: service.load(),
  });
  // Only exports are asked for.
  const methods = prefixMethods({ local: holder.prefixes, fetcher: { fetch: async () => undefined }, options });
  const { executor, close } = await openPeerPair({ methods, link });
  const fetcher = new PrefixFetcher({
    local: asker.prefixes,
    executor,
    topology: () => ({ epoch: 1, selfShardId: asId<ShardId>('a'), members: [member('a', asker), member('b', holder)] }),
    clock: new NodeClock(),
    logger: PinoLogger.open({ level: 'warn', destination: 2 }),
    metrics,
    options,
  });
  return { asker, holder, fetcher, outcomes, close };
}

async function measure({ asker, holder, fetcher, outcomes }: Pair, tokens: number, next: () => number): Promise<Times> {
  const prompt = await promptOf(asker, tokens, next());
  const cold = await firstTokenMs(asker, await promptOf(asker, tokens, next()));
  const before = holder.load().prefixes;
  await firstTokenMs(holder, prompt);
  while (holder.load().prefixes === before) await new Promise((resolve) => setTimeout(resolve, 10));
  const moved = await firstTokenMs(asker, prompt, fetcher);
  return { cold, moved, hit: await firstTokenMs(asker, prompt), outcome: outcomes.at(-1) ?? 'not asked' };
}

/** Of so many tokens, beginning like no other. */
async function promptOf(service: ModelService, tokens: number, serial: number): Promise<string> {
  const words = `${serial} harbour ${serial} log ${serial}. ${'The harbour keeps a log of ships, and every ship has a name. '.repeat(tokens / 8)}`;
  const ids = await service.tokenize('default', words, signal);
  return service.detokenize('default', ids.slice(0, tokens), signal);
}

async function firstTokenMs(service: ModelService, prompt: string, fetcher?: PrefixFetcher): Promise<number> {
  const request: GenerateRequest = {
    requestId: 'bench',
    model: 'default',
    messages: [],
    prompt,
    sampling: { ...plainSampling, tokensMax: 1, ignoreEnd: true },
    priority: 'normal',
  };
  const startedMs = performance.now();
  await fetcher?.prepare(request, signal);
  for await (const event of service.generate(request, signal)) if (event.kind === 'finished') return performance.now() - startedMs;
  throw new Error('a generation ends with a finished event');
}
