// Question (R21): running requests, half of the base model and half of an adapter, each group decoding for itself. A step serves one adapter,
// and a switch of adapters costs a new reservation of the graph. Does a second context for the adapter pay, over taking turns in one? Steps
// of llama.cpp alone, one thread, the same rows, interleaved run by run in one process; rows of the adapter one by one, as the engine
// computes them. `ids mixed`: groups hold every other sequence, as the lowest free ones gave them; `ids together`: each group's are next to
// each other, so that a step of the base model is one pass.
import type { BenchResult } from './BenchResult.js';
import { measured } from './measured.js';
import { modelFile } from './modelFile.js';
import { AdapterContexts, type Group } from './peers/AdapterContexts.js';

const adapterPath = 'sample/adapters/legal.gguf';
const promptTokens = 64;
const groupRowsMax = 8;

const layouts = {
  'one context, ids mixed': (place: number, group: number) => ({ context: 0, id: 2 * place + group }),
  'one context, ids together': (place: number, group: number) => ({ context: 0, id: groupRowsMax * group + place }),
  'two contexts': (place: number, group: number) => ({ context: group, id: place }),
} as const;

interface Way {
  readonly layout: keyof typeof layouts;
  /** Requests of each of the two groups. */
  readonly rows: number;
  readonly turnSteps: number;
}

/** What the engine does by default. */
const present = { layout: 'one context, ids together', turnSteps: 8 } as const;

const ways: readonly Way[] = [
  ...[8, 64].map((turnSteps) => ({ layout: 'one context, ids mixed' as const, rows: 4, turnSteps })),
  ...[8, 16, 32, 64].map((turnSteps) => ({ layout: present.layout, rows: 4, turnSteps })),
  ...[1, 8].map((turnSteps) => ({ layout: 'two contexts' as const, rows: 4, turnSteps })),
  ...(['one context, ids mixed', present.layout, 'two contexts'] as const).map((layout) => ({ layout, rows: groupRowsMax, turnSteps: 8 })),
];

interface Rates {
  readonly perCpuSecond: number[];
  readonly perSecond: number[];
}

/** Needs the chat model in OSTRAKA_TEST_CHAT_MODEL. Target: none; docs/decisions/0009 weighs the figures. */
export async function adapterContextsBench(options: { readonly quick: boolean }): Promise<BenchResult[]> {
  const { runs, steps } = options.quick ? { runs: 3, steps: 64 } : { runs: 10, steps: 64 };
  const sequences = [2 * groupRowsMax, groupRowsMax];
  const contexts = new AdapterContexts({ modelPath: modelFile('OSTRAKA_TEST_CHAT_MODEL').path, adapterPath, sequences });
  const rates = new Map<string, Rates>(ways.map((way) => [nameOf(way), { perCpuSecond: [], perSecond: [] }]));
  for (let run = -1; run < runs; run++)
    for (const way of run % 2 === 0 ? ways : ways.toReversed()) {
      const rate = measureWay(contexts, way, steps);
      if (run < 0) continue; // the first run warms up
      rates.get(nameOf(way))?.perCpuSecond.push(rate.perCpuSecond);
      rates.get(nameOf(way))?.perSecond.push(rate.perSecond);
    }
  contexts.close();
  return ways.flatMap((way) => resultsOf(way, rates));
}

function measureWay(contexts: AdapterContexts, way: Way, steps: number) {
  const groups = groupsOf(way);
  contexts.prefill(groups, promptTokens);
  const [before, startedMs] = [process.cpuUsage(), performance.now()];
  contexts.decode(groups, { from: promptTokens, steps, turnSteps: way.turnSteps });
  const elapsedMs = performance.now() - startedMs;
  const { user, system } = process.cpuUsage(before);
  contexts.clear(groups);
  const tokens = steps * groups.length * way.rows;
  return { perCpuSecond: tokens / ((user + system) / 1e6), perSecond: tokens / (elapsedMs / 1000) };
}

const groupsOf = ({ layout, rows }: Way): readonly Group[] =>
  [false, true].map((hasAdapter, group) => {
    const places = Array.from({ length: rows }, (_, place) => layouts[layout](place, group));
    return { context: places[0]?.context ?? 0, hasAdapter, sequences: places.map(({ id }) => id) };
  });

const nameOf = ({ layout, rows, turnSteps }: Way): string => `two groups of ${rows}, ${layout}, turns of ${turnSteps}`;

const median = (values: readonly number[]): number => [...values].sort((left, right) => left - right)[values.length >> 1] as number;

function resultsOf(way: Way, rates: ReadonlyMap<string, Rates>): BenchResult[] {
  const [name, against] = [nameOf(way), nameOf({ ...way, ...present })];
  const [own, reference] = [rates.get(name) as Rates, rates.get(against) as Rates];
  const units = [
    { key: 'perCpuSecond', metric: 'tokens per CPU-second', unit: 'tokens/CPU-s' },
    { key: 'perSecond', metric: 'tokens per second', unit: 'tokens/s' },
  ] as const;
  return units.map(({ key, metric, unit }) =>
    measured({ name, metric, unit, values: own[key], against, ratioOf: (value) => value / median(reference[key]) }),
  );
}
