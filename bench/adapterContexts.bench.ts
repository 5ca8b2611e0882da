// Question (R21): eight running requests, four of the base model and four of an adapter, each group decoding for itself. A step serves one
// adapter, and a switch of adapters costs a new reservation of the graph. Does a second context for the adapter pay, over taking turns in
// one? Steps of llama.cpp alone, one thread, the same rows, interleaved run by run in one process. `ids mixed`: groups hold every other
// sequence, as the lowest free ones gave them; `ids together`: each group's are next to each other, so that its step is one pass.
import type { BenchResult } from './BenchResult.js';
import { measured } from './measured.js';
import { modelFile } from './modelFile.js';
import { AdapterContexts, type Group } from './peers/AdapterContexts.js';

const adapterPath = 'sample/adapters/legal.gguf';
const promptTokens = 64;
/** The second one is the adapter's own. */
const [shared, own] = [0, 1] as const;

const groups: { readonly [layout: string]: readonly Group[] } = {
  'one context, ids mixed': [
    { context: shared, hasAdapter: false, sequences: [0, 2, 4, 6] },
    { context: shared, hasAdapter: true, sequences: [1, 3, 5, 7] },
  ],
  'one context, ids together': [
    { context: shared, hasAdapter: false, sequences: [0, 1, 2, 3] },
    { context: shared, hasAdapter: true, sequences: [4, 5, 6, 7] },
  ],
  'two contexts': [
    { context: shared, hasAdapter: false, sequences: [0, 1, 2, 3] },
    { context: own, hasAdapter: true, sequences: [0, 1, 2, 3] },
  ],
};

const ways: readonly { readonly layout: string; readonly turnSteps: number }[] = [
  ...[8, 64].map((turnSteps) => ({ layout: 'one context, ids mixed', turnSteps })),
  ...[8, 16, 32, 64].map((turnSteps) => ({ layout: 'one context, ids together', turnSteps })),
  ...[1, 8].map((turnSteps) => ({ layout: 'two contexts', turnSteps })),
];
/** What the engine does by default. */
const present = nameOf({ layout: 'one context, ids together', turnSteps: 8 });

interface Rates {
  readonly perCpuSecond: number[];
  readonly perSecond: number[];
}

/** Needs the chat model in OSTRAKA_TEST_CHAT_MODEL. Target: none; docs/decisions/0009 weighs the figures. */
export async function adapterContextsBench(options: { readonly quick: boolean }): Promise<BenchResult[]> {
  const { runs, steps } = options.quick ? { runs: 3, steps: 64 } : { runs: 10, steps: 64 };
  const contexts = new AdapterContexts({ modelPath: modelFile('OSTRAKA_TEST_CHAT_MODEL').path, adapterPath, sequences: [8, 4] });
  const rates = new Map<string, Rates>(ways.map((way) => [nameOf(way), { perCpuSecond: [], perSecond: [] }]));
  for (let run = -1; run < runs; run++)
    for (const way of run % 2 === 0 ? ways : ways.toReversed()) {
      const rate = measureWay(contexts, way, steps);
      if (run < 0) continue; // the first run warms up
      rates.get(nameOf(way))?.perCpuSecond.push(rate.perCpuSecond);
      rates.get(nameOf(way))?.perSecond.push(rate.perSecond);
    }
  contexts.close();
  return [...rates].flatMap(([name, rate]) => resultsOf(name, rate, rates.get(present) as Rates));
}

function measureWay(contexts: AdapterContexts, { layout, turnSteps }: (typeof ways)[number], steps: number) {
  const used = groups[layout] as readonly Group[];
  contexts.prefill(used, promptTokens);
  const [before, startedMs] = [process.cpuUsage(), performance.now()];
  contexts.decode(used, { from: promptTokens, steps, turnSteps });
  const elapsedMs = performance.now() - startedMs;
  const { user, system } = process.cpuUsage(before);
  contexts.clear(used);
  const tokens = steps * used.reduce((sum, { sequences }) => sum + sequences.length, 0);
  return { perCpuSecond: tokens / ((user + system) / 1e6), perSecond: tokens / (elapsedMs / 1000) };
}

function nameOf({ layout, turnSteps }: (typeof ways)[number]): string {
  return `${layout}, turns of ${turnSteps}`;
}

const median = (values: readonly number[]): number => [...values].sort((left, right) => left - right)[values.length >> 1] as number;

function resultsOf(name: string, rate: Rates, reference: Rates): BenchResult[] {
  const units = [
    { key: 'perCpuSecond', metric: 'tokens per CPU-second', unit: 'tokens/CPU-s' },
    { key: 'perSecond', metric: 'tokens per second', unit: 'tokens/s' },
  ] as const;
  return units.map(({ key, metric, unit }) =>
    measured({ name, metric, unit, values: rate[key], against: present, ratioOf: (value) => value / median(reference[key]) }),
  );
}
