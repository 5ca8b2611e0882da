// Claim (R19, R34): a shard serves streams over HTTP as fast as llama-server alone and faster to many, at least 1.2 times as many of them within a
// stated service level, and says the same alone and in load. Both run on the same libraries, model and one compute thread, 16 sequences of 1,024
// tokens, no prompt cache at the peer and no two equal prompts; a closed loop of clients with a connection a request, 64 greedy tokens, the two
// in turns. Ratios are medians over the pairs of runs that were taken one after the other.
import type { BenchResult } from './BenchResult.js';
import { measured } from './measured.js';
import { modelFile } from './modelFile.js';
import { openBenchShard } from './openBenchShard.js';
import { openPeerServer } from './openPeerServer.js';
import { peerPrograms } from './peerPrograms.js';
import { type StreamedChat, streamChat } from './streamChat.js';

const tokens = 64;
const sequences = 16;
const peerName = 'llama-server';
const interTokenMs = 400;
const firstTokenMs = ({ promptTokens }: StreamedChat): number => 1000 + (1000 * promptTokens) / 256;

interface Load {
  readonly tokensPerSecond: number;
  /** Requests a second within the service level. */
  readonly goodput: number;
  readonly firstTokenP50Ms: number;
  readonly gapP99Ms: number;
}

type Server = 'ours' | 'peer';

type Pair = { readonly [server in Server]: Load };

/** A closed loop: each client asks so many requests, one after the other. */
interface Loop {
  readonly clients: number;
  readonly requests: number;
}

const goodputTarget = 1.2;
/** Requests a second below which a server is taken to serve none: a ratio to nothing says nothing. */
const goodputMin = 0.01;

/** Interleaved pairs by number of clients (nine at 32 and at 128 would be 40 minutes more); clients among which the peak of the goodput is looked for; questions asked alone and at once. */
const quick: Size = {
  loadRuns: [
    [1, 1],
    [8, 1],
  ],
  sweep: [2, 8],
  sweepRuns: 1,
  questions: 8,
};
const full: Size = {
  loadRuns: [
    [1, 9],
    [8, 9],
    [32, 5],
    [128, 3],
  ],
  sweep: [1, 2, 3, 4, 6, 8, 12],
  sweepRuns: 3,
  questions: 64,
};

interface Size {
  readonly loadRuns: readonly (readonly [clients: number, runs: number])[];
  readonly sweep: readonly number[];
  /** Runs at each number of clients, of which the median counts. */
  readonly sweepRuns: number;
  readonly questions: number;
}

interface Target {
  readonly url: string;
  /** Fields of its own in each body. */
  readonly fields: object;
}

/** Needs the chat model in OSTRAKA_TEST_CHAT_MODEL, and what builds the peer. */
export async function serverBench(options: { readonly quick: boolean }): Promise<BenchResult[]> {
  const { loadRuns, sweep, sweepRuns, questions } = options.quick ? quick : full;
  const shard = await openBenchShard(['--sequences', String(sequences), '--context', '1024']);
  const peer = await openPeerServer({ folder: peerPrograms(), modelPath: modelFile('OSTRAKA_TEST_CHAT_MODEL').path, options: peerOptions });
  const targets: { readonly [server in Server]: Target } = {
    ours: { url: shard.url, fields: {} },
    peer: { url: peer.url, fields: { cache_prompt: false } },
  };
  try {
    const results: BenchResult[] = [];
    const ratios: number[] = [];
    for (const [clients, runs] of loadRuns) {
      const pairs: Pair[] = [];
      for (let run = 0; run < runs; run++) pairs.push(await pairOf(targets, { clients, requests: clients === 1 ? 4 : 2 }, run));
      results.push(...resultsOf(clients, pairs));
      ratios.push(medianOf(pairs.map((pair) => pair.ours.tokensPerSecond / pair.peer.tokensPerSecond)));
    }
    results.push(
      meanOf(
        loadRuns.map(([clients]) => clients),
        ratios,
      ),
    );
    return [...results, await goodputAtPeak(targets, { sweep, sweepRuns }), ...(await sameText(targets, questions))];
  } finally {
    await peer.close();
    await shard.close();
  }
}

/**
 * Prompts in calls of at most 2,048 tokens that are computed in pieces of 512, as is its default: of 128, 256 and 512 the largest takes it the
 * least CPU time (a run of 16 prompts of 128 tokens: 5.5, 5.4 and 5.3 s), so that it is not held back; `batched` runs it with the same.
 */
const peerBatch = ['-b', '2048', '-ub', '512'];
const peerContext = ['-np', String(sequences), '-c', String(sequences * 1024), '--no-kv-unified', '--cache-ram', '0'];
const peerOptions = ['-t', '1', '-tb', '1', ...peerContext, ...peerBatch];

const words = [
  'harbour',
  'captain',
  'ledger',
  'lantern',
  'winter',
  'engine',
  'garden',
  'letter',
  'bridge',
  'market',
  'river',
  'island',
  'signal',
];

/** About 115 tokens, unlike any other. */
const questionOf = (label: string, index: number): string => {
  const list = Array.from({ length: 80 }, (_, place) => words[(index * 31 + place * (1 + (index % 5))) % words.length]);
  return `Request ${label} ${index}. Continue this text: ${list.join(' ')}`;
};

const bodyOf = (content: string): object => ({
  model: 'default',
  temperature: 0,
  max_tokens: tokens,
  ignore_eos: true,
  messages: [{ role: 'user', content }],
});

async function pairOf(targets: { readonly [server in Server]: Target }, loop: Loop, run: number): Promise<Pair> {
  const order: readonly Server[] = run % 2 === 0 ? ['ours', 'peer'] : ['peer', 'ours'];
  const pair: Partial<{ [server in Server]: Load }> = {};
  for (const server of order) pair[server] = await loadOf(targets[server], loop, `${run} ${loop.clients} ${loop.requests} ${server}`);
  return pair as Pair;
}

/** Each at the number of clients where most of its requests a second keep the service level. */
async function goodputAtPeak(
  targets: { readonly [server in Server]: Target },
  { sweep, sweepRuns }: Pick<Size, 'sweep' | 'sweepRuns'>,
): Promise<BenchResult> {
  const goodputs = sweep.map((): { readonly [server in Server]: number[] } => ({ ours: [], peer: [] }));
  for (let run = 0; run < sweepRuns; run++)
    for (const [place, clients] of sweep.entries()) {
      const pair = await pairOf(targets, { clients, requests: 5 }, run);
      for (const server of ['ours', 'peer'] as const) goodputs[place]?.[server].push(pair[server].goodput);
    }
  const peakOf = (server: Server) =>
    goodputs
      .map((each, place) => ({ clients: sweep[place] as number, runs: each[server], median: medianOf(each[server]) }))
      .reduce((best, other) => (other.median > best.median ? other : best));
  const [ours, peer] = [peakOf('ours'), peakOf('peer')];
  return measured({
    name: `peak of the goodput over ${sweep.join(', ')} clients (ours at ${ours.clients}, ${peerName} at ${peer.clients})`,
    metric: 'requests a second within the service level',
    unit: 'requests/s',
    values: ours.runs,
    against: `${peerName} (${peer.median.toPrecision(4)}), target at least ${goodputTarget}`,
    ratioOf: () => medianOf(ours.runs.map((value, run) => goodputRatio(value, peer.runs[run] as number))),
  });
}

const goodputRatio = (ours: number, peer: number): number => Math.max(ours, goodputMin) / Math.max(peer, goodputMin);

async function loadOf({ url, fields }: Target, { clients, requests }: Loop, label: string): Promise<Load> {
  const beganMs = performance.now();
  const chats = await Promise.all(
    Array.from({ length: clients }, async (_, client) => {
      const own: StreamedChat[] = [];
      for (let number = 0; number < requests; number++)
        own.push(await streamChat(url, { ...bodyOf(questionOf(label, client * requests + number)), ...fields }));
      return own;
    }),
  );
  const seconds = (performance.now() - beganMs) / 1000;
  const all = chats.flat();
  const good = all.filter((chat) => chat.firstTokenMs <= firstTokenMs(chat) && quantile(chat.gapsMs, 0.99) <= interTokenMs);
  return {
    tokensPerSecond: all.reduce((sum, { completionTokens }) => sum + completionTokens, 0) / seconds,
    goodput: good.length / seconds,
    firstTokenP50Ms: quantile(
      all.map((chat) => chat.firstTokenMs),
      0.5,
    ),
    gapP99Ms: quantile(
      all.flatMap(({ gapsMs }) => gapsMs),
      0.99,
    ),
  };
}

const quantile = (values: readonly number[], share: number): number => {
  const sorted = [...values].sort((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
};

const medianOf = (values: readonly number[]): number => quantile(values, 0.5);

function resultsOf(clients: number, loads: readonly Pair[]): BenchResult[] {
  const figure = (metric: string, unit: string, figureOf: Figure): BenchResult => {
    const { pick, ratio, target } = figureOf;
    const peer = medianOf(loads.map((pair) => pick(pair.peer))).toPrecision(4);
    return measured({
      name: `${clients} client${clients === 1 ? '' : 's'} over HTTP`,
      metric,
      unit,
      values: loads.map((pair) => pick(pair.ours)),
      against: `${peerName} (${peer})${target === undefined ? '' : `, target ${target}`}`,
      ratioOf: () => medianOf(loads.map((pair) => ratio(pick(pair.ours), pick(pair.peer)))),
    });
  };
  const more = (ours: number, peer: number): number => ours / peer;
  const less = (ours: number, peer: number): number => peer / ours;
  return [
    figure('tokens a second', 'tokens/s', { pick: (load) => load.tokensPerSecond, ratio: more, target: tokensTarget(clients) }),
    figure('requests a second within the service level', 'requests/s', { pick: ({ goodput }) => goodput, ratio: goodputRatio }),
    figure('time to the first token, p50', 'ms', { pick: (load) => load.firstTokenP50Ms, ratio: less }),
    figure('time between two tokens, p99', 'ms', { pick: ({ gapP99Ms }) => gapP99Ms, ratio: less }),
  ];
}

interface Figure {
  readonly pick: (load: Load) => number;
  /** How many times as good ours is. */
  readonly ratio: (ours: number, peer: number) => number;
  readonly target?: string;
}

const tokensTarget = (clients: number): string => (clients === 1 ? 'at least 1.0' : 'over 1.0');

/** Of the ratios in tokens a second. */
function meanOf(clients: readonly number[], ratios: readonly number[]): BenchResult {
  return measured({
    name: `geometric mean over ${clients.join(', ')} clients`,
    metric: `tokens a second, ratio to ${peerName}`,
    unit: 'ratio',
    values: [Math.exp(ratios.reduce((sum, ratio) => sum + Math.log(ratio), 0) / ratios.length)],
    against: 'target over 1.0',
    ratioOf: (mean) => mean,
  });
}

/** The same questions one by one and all at once: how many have the same answer. */
async function sameText(targets: { readonly [server in Server]: Target }, count: number): Promise<BenchResult[]> {
  const shares = new Map<Server, number>();
  for (const server of ['ours', 'peer'] as const) {
    const { url, fields } = targets[server];
    const ask = (index: number): Promise<StreamedChat> => streamChat(url, { ...bodyOf(questionOf('same', index)), ...fields });
    const alone: string[] = [];
    for (let index = 0; index < count; index++) alone.push((await ask(index)).text);
    const together = await Promise.all(Array.from({ length: count }, (_, index) => ask(index)));
    shares.set(server, together.filter(({ text }, index) => text === alone[index]).length / count);
  }
  const peer = shares.get('peer') as number; // of no target: it promises no same text
  return [
    measured({
      name: `${count} questions alone and all at once`,
      metric: 'share with the same answer',
      unit: '1',
      values: [shares.get('ours') as number],
      against: `target 1.0 (${peerName}: ${peer.toPrecision(3)})`,
      ratioOf: (share) => share,
    }),
  ];
}
