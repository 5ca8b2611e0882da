// Claim (R18, R19): with 16 sequences decoding, scheduling, sampling, text and events take at most 3 % of a step; the rest is the library's. From
// the beginning of one decode call to that of the next, what is not spent inside the backend, summed over the steps of a run: plan, sampling,
// text, events, their readers in this process, garbage and the turn of the event loop. The channel to the shard is another process's claim
// (`eventLoop`, `server`). One thread; without drafts, since a step of 16 rows is the shortest; drafts are a row of their own.
import { assert } from '../src/base/index.js';
import { plainSampling, type SamplingOptions } from '../src/platform/index.js';
import type { AssembledEngine } from '../src/shard/index.js';
import type { BenchResult } from './BenchResult.js';
import { measured } from './measured.js';
import { openBenchEngine } from './openBenchEngine.js';
import { StepMeter } from './StepMeter.js';

const sequences = 16;
const bounds = { sequences, contextTokens: 512, threads: 1 };
const shareTarget = 0.03;

const drawn = { temperature: 0.8, topP: 0.95, seed: 1 };
const settings: readonly Setting[] = [
  { name: 'greedy', inference: { draftTokensMax: 0 }, sampling: {} },
  { name: 'temperature 0.8, top_p 0.95', inference: { draftTokensMax: 0 }, sampling: drawn },
  { name: 'greedy, drafts as by default', inference: {}, sampling: {} },
];

interface Setting {
  readonly name: string;
  readonly inference: { readonly [option: string]: number };
  readonly sampling: Partial<SamplingOptions>;
}

type Drawing = Partial<SamplingOptions> & Pick<SamplingOptions, 'tokensMax'>;

interface Run {
  readonly share: number;
  readonly outsideMs: number;
}

/** Needs the chat and the embedding model in OSTRAKA_TEST_CHAT_MODEL and OSTRAKA_TEST_EMBEDDING_MODEL. */
export async function overheadBench(options: { readonly quick: boolean }): Promise<BenchResult[]> {
  const { runs, tokens } = options.quick ? { runs: 3, tokens: 32 } : { runs: 9, tokens: 96 };
  const subjects = settings.map((setting) => {
    const meter = new StepMeter(sequences);
    const engine = openBenchEngine(bounds, setting.inference, (backend) => meter.wrap(backend));
    return { setting, meter, engine, runs: [] as Run[] };
  });
  for (let run = -1; run < runs; run++)
    for (const subject of subjects) {
      subject.meter.take();
      await generateAll(subject.engine, run, { tokensMax: tokens, ...subject.setting.sampling });
      const { steps, wholeMs, nativeMs } = subject.meter.take();
      assert(steps > 0, 'all sequences decoded together');
      const outsideMs = wholeMs - nativeMs;
      if (run >= 0) subject.runs.push({ share: outsideMs / wholeMs, outsideMs: outsideMs / steps }); // the first run warms up
    }
  for (const { engine } of subjects) await engine.close(new Error('the bench is over'));
  return subjects.flatMap(({ setting, runs: seen }) => resultsOf(setting.name, seen));
}

function resultsOf(setting: string, runs: readonly Run[]): BenchResult[] {
  const name = `a step of ${sequences} sequences, ${setting}`;
  return [
    measured({
      name,
      metric: 'share of the step outside the library',
      unit: 'share',
      values: runs.map(({ share }) => share),
      against: `target of at most ${shareTarget}`,
      ratioOf: (share) => shareTarget / share,
    }),
    measured({
      name,
      metric: 'time of a step outside the library',
      unit: 'ms',
      values: runs.map(({ outsideMs }) => outsideMs),
      against: 'itself',
      ratioOf: () => 1,
    }),
  ];
}

async function generateAll(engine: AssembledEngine, run: number, sampling: Drawing): Promise<void> {
  await Promise.all(
    Array.from({ length: sequences }, async (_, index) => {
      // The first words differ from those of all others, so that no prefix is shared.
      const content = `${run} ${index}: tell me a long story about a ship, its captain and the harbour it never reached.`;
      for await (const event of engine.generate(requestOf(content, sampling), new AbortController().signal))
        if (event.kind === 'finished') return;
    }),
  );
}

const requestOf = (content: string, sampling: Drawing) => ({
  requestId: 'bench',
  model: 'default',
  messages: [{ role: 'user' as const, content }],
  sampling: { ...plainSampling, ignoreEnd: true, ...sampling },
  priority: 'normal' as const,
});
