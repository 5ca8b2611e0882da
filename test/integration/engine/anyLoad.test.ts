import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type AdapterIdentity, type GenerateRequest, plainSampling } from '../../../src/platform/index.js';
import type { AssembledEngine } from '../../../src/shard/index.js';
import { openTestEngine } from './openTestEngine.js';
import { testAdapters } from './testAdapters.js';
import { testPrompts } from './testPrompts.js';

const { passage } = testPrompts;
const adapterNames = ['none', 'none', 'whole', 'half'] as const;

const work = fc.record({
  /** Passages before the question: what requests share. */
  passages: fc.constantFrom(0, 1, 1, 2, 3),
  question: fc.constantFrom('Who keeps the log?', 'When is it copied? Answer in one sentence.', 'Repeat the first sentence.'),
  priority: fc.constantFrom<GenerateRequest['priority'][]>('low', 'normal', 'high'),
  adapter: fc.constantFrom(...adapterNames),
  seed: fc.option(fc.nat({ max: 3 })),
  tokensMax: fc.integer({ min: 1, max: 24 }),
  /** Begins when the others have made so many events. */
  after: fc.nat({ max: 60 }),
  /** Ends the reader after so many events; null = reads all. */
  leavesAfter: fc.option(fc.integer({ min: 1, max: 8 }), { freq: 4 }),
});

type Work = typeof work extends fc.Arbitrary<infer Value> ? Value : never;
type Adapters = { readonly [name in (typeof adapterNames)[number]]?: AdapterIdentity };

const loadInto = async (engine: AssembledEngine): Promise<Adapters> => {
  const { signal } = new AbortController();
  const [path] = testAdapters();
  const [whole, half] = [await engine.loadAdapter({ path, scale: 1 }, signal), await engine.loadAdapter({ path, scale: 0.5 }, signal)];
  return { whole, half };
};

const requestOf = (one: Work, adapters: Adapters): GenerateRequest => {
  const sampling = { ...plainSampling, tokensMax: one.tokensMax, ...(one.seed !== null && { temperature: 0.9, seed: one.seed }) };
  const adapter = adapters[one.adapter];
  return testPrompts.request(`${passage.repeat(one.passages)}${one.question}`, sampling, {
    priority: one.priority,
    ...(adapter !== undefined && { adapter }),
  });
};

/** The text; undefined where the reader left. */
async function answer(engine: AssembledEngine, asked: GenerateRequest, reading: { leavesAfter: number | null; onEvent: () => void }) {
  const abort = new AbortController();
  let [text, events] = ['', 0];
  try {
    for await (const event of engine.generate(asked, abort.signal)) {
      if (event.kind === 'text') text += event.text;
      reading.onEvent();
      if (++events === reading.leavesAfter) abort.abort();
    }
    return text;
  } catch (error) {
    if (reading.leavesAfter === null) throw error;
    return undefined;
  }
}

/** All requests, each begun when the others have made so many events, or when nobody is left to make them. */
async function answerAll(engine: AssembledEngine, all: readonly Work[], adapters: Adapters): Promise<readonly (string | undefined)[]> {
  const waiting = all.map((one, place) => ({ one, place })).sort((left, right) => left.one.after - right.one.after);
  const texts = new Array<string | undefined>(all.length);
  let [events, running] = [0, 0];
  return new Promise((resolve, reject) => {
    const beginDue = (): void => {
      while (waiting[0] !== undefined && (waiting[0].one.after <= events || running === 0)) begin(waiting.shift() as (typeof waiting)[0]);
      if (running === 0) resolve(texts);
    };
    const onEvent = (): void => {
      events++;
      beginDue();
    };
    const begin = ({ one, place }: (typeof waiting)[0]): void => {
      running++;
      answer(engine, requestOf(one, adapters), { leavesAfter: one.leavesAfter, onEvent }).then((text) => {
        texts[place] = text;
        running--;
        beginDue();
      }, reject);
    };
    beginDue();
  });
}

let [cold, busy] = [undefined, undefined] as unknown as [AssembledEngine, AssembledEngine];
beforeAll(() => {
  cold = openTestEngine({ sequences: 1, contextTokens: 768 }, { prefixTokensMin: 100_000, kvStoreBytesMax: 0, draftTokensMax: 0 });
  const tight = { kvCellPagesMax: 64, kvHeadroomPages: 6, sequenceTurnMs: 100, sequenceTurnTokensMin: 2, kvStoreBytesMax: 12_000_000 };
  busy = openTestEngine({ sequences: 2, contextTokens: 768 }, { ...tight, draftLossShareMax: 0.5 });
});
afterAll(async () => {
  for (const engine of [cold, busy]) await engine.close(new Error('test is over'));
});

it('gives the text of a cold run alone under random loads with cancels, suspensions, adapters, shared prefixes and drafts on the real model (R20, R22)', {
  timeout: 240_000,
}, async () => {
  const [own, adapters] = [await loadInto(cold), await loadInto(busy)];
  const known = new Map<string, string | undefined>();
  const alone = async ({ after, leavesAfter, priority, ...what }: Work): Promise<string | undefined> => {
    const key = JSON.stringify(what);
    if (!known.has(key))
      known.set(
        key,
        await answer(cold, requestOf({ ...what, after, leavesAfter, priority }, own), { leavesAfter: null, onEvent: () => undefined }),
      );
    return known.get(key);
  };
  const check = async (all: readonly Work[]): Promise<void> => {
    const got = await answerAll(busy, all, adapters);
    for (const [place, text] of got.entries()) if (text !== undefined) expect(text).toBe(await alone(all[place] as Work));
    expect(busy.load()).toMatchObject({ pendingLlmRequests: 0, sequencesBusy: 0 });
    expect(busy.figures().cells.held).toBe(0);
    expect(busy.figures().store.held).toBe(0);
  };
  await fc.assert(fc.asyncProperty(fc.array(work, { minLength: 6, maxLength: 10 }), check), { numRuns: 4, endOnFailure: true });
  // What not every draw holds: both sequences taken by those of low priority when one of high priority comes.
  const low = { passages: 2, question: 'Repeat the first sentence.', priority: 'low', adapter: 'none', seed: null, tokensMax: 24 } as const;
  const all = [0, 1, 8].map((after): Work => ({ ...low, after, leavesAfter: null, ...(after > 1 && { priority: 'high' }) }));
  await check(all);
  expect(busy.figures().prefixLookups.hit).toBeGreaterThan(0);
  expect(busy.figures().preemptions).toBeGreaterThan(0);
});
