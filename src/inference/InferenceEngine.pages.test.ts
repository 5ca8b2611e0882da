import fc from 'fast-check';
import { expect, it } from 'vitest';
import { openToyEngine } from '../../sim/engine/index.js';
import { withMethods } from '../../test/support/withMethods.js';
import {
  type AdapterIdentity,
  type BackendRow,
  type GenerateEvent,
  type GenerateRequest,
  plainSampling,
  platformError,
  type StepBackend,
} from '../platform/index.js';
import { NodeRandom, PinoLogger } from '../platform/node/index.js';
import type { InferenceOptions } from './options.js';

const logger = PinoLogger.open({ level: 'error', destination: '/dev/null' });

/** What goes round and round, so that drafts of it are right. */
const script = [{ question: 'recite', answer: 'round and round and round and round and round and round it goes' }];

const open = (inference: Partial<InferenceOptions>, sequences: number, wrap?: (backend: StepBackend) => StepBackend) => {
  const bounds = { sequences, contextTokens: 1024, queueRequestsMax: 64 };
  return openToyEngine({ random: new NodeRandom(), logger, script, inference, ...bounds, ...(wrap && { wrap }) });
};

interface Work {
  readonly prefix: number;
  readonly tail: string;
  readonly priority: GenerateRequest['priority'];
  readonly adapter: 'a' | 'weakA' | 'b' | null;
  readonly seed: number | null;
  readonly tokensMax: number;
  readonly delayMs: number;
  /** Ends the reader after so many events; null = reads all. */
  readonly leavesAfter: number | null;
}

const prefixes = ['', 'shared words of many requests '.repeat(5), 'another long beginning, '.repeat(12), 'recite '];
const work: fc.Arbitrary<Work> = fc.record({
  prefix: fc.constantFrom(0, 1, 1, 2, 2, 3),
  tail: fc.string({ minLength: 1, maxLength: 80 }),
  priority: fc.constantFrom<GenerateRequest['priority'][]>('low', 'normal', 'normal', 'high', 'critical'),
  adapter: fc.constantFrom<Work['adapter'][]>(null, null, 'a', 'weakA', 'b'),
  seed: fc.option(fc.nat({ max: 1000 })),
  tokensMax: fc.integer({ min: 1, max: 40 }),
  delayMs: fc.nat({ max: 2000 }),
  leavesAfter: fc.option(fc.nat({ max: 6 }), { freq: 4 }),
});

type Toy = ReturnType<typeof open>;

const requestOf = (one: Work, adapters: { readonly [name: string]: AdapterIdentity }): GenerateRequest => ({
  requestId: 'r',
  model: 'default',
  messages: [{ role: 'user', content: `${prefixes[one.prefix]}${one.tail}` }],
  priority: one.priority,
  sampling: { ...plainSampling, tokensMax: one.tokensMax, ...(one.seed !== null && { temperature: 1, seed: one.seed }) },
  ...(one.adapter !== null && { adapter: adapters[one.adapter] as AdapterIdentity }),
});

const load = async ({ engine }: Toy) => {
  const { signal } = new AbortController();
  const of = (path: string, scale: number) => engine.loadAdapter({ path, scale }, signal);
  return { a: await of('a', 1), weakA: await of('a', 0.5), b: await of('b', 1) };
};

async function answer({ engine }: Toy, request: GenerateRequest, leavesAfter: number | null): Promise<string | undefined> {
  const abort = new AbortController();
  const events: GenerateEvent[] = [];
  try {
    for await (const event of engine.generate(request, abort.signal)) {
      events.push(event);
      if (events.length === leavesAfter) abort.abort();
    }
  } catch {
    return undefined; // it left
  }
  return events.map((event) => (event.kind === 'text' ? event.text : '')).join('');
}

async function later(toy: Toy, one: Work, adapters: { readonly [name: string]: AdapterIdentity }): Promise<string | undefined> {
  await toy.clock.sleep(one.delayMs, new AbortController().signal);
  return answer(toy, requestOf(one, adapters), one.leavesAfter);
}

it('gives the answer of an undisturbed cold run under any load, cancels, suspensions, lost rows, adapters, cache hits and drafts (R20, R26)', async () => {
  const reached = { hits: 0, preemptions: 0, accepted: 0, refused: 0 };
  const loads = fc.record({
    all: fc.array(work, { minLength: 1, maxLength: 14 }),
    storePages: fc.nat({ max: 60 }),
    headroom: fc.nat({ max: 40 }),
  });
  await fc.assert(
    fc.asyncProperty(loads, async ({ all, storePages, headroom }) => {
      const cold = open({ kvStoreBytesMax: 0, prefixTokensMin: 100_000, draftTokensMax: 0 }, 16);
      const tight = {
        kvStoreBytesMax: storePages * 16 * 24,
        kvCellPagesMax: 100,
        kvHeadroomPages: headroom,
        sequenceTurnMs: 100,
        sequenceTurnTokensMin: 2,
        prefixTokensMin: 64,
        draftGainMin: 1,
        draftLossShareMax: 0.5,
      };
      const busy = open(tight, 3);
      const adapters = await load(cold);
      await load(busy);
      const expected: (string | undefined)[] = [];
      for (const one of all) expected.push(await answer(cold, requestOf(one, adapters), null));
      const got = await Promise.all(all.map((one) => later(busy, one, adapters)));
      for (const [i, text] of got.entries()) if (text !== undefined) expect(text).toBe(expected[i]);
      await busy.clock.sleep(1000, new AbortController().signal); // the last cycle publishes
      expect(busy.engine.load()).toMatchObject({ pendingLlmRequests: 0, sequencesBusy: 0 });
      expect(busy.engine.figures().cells.held).toBe(0);
      expect(busy.engine.figures().store.held).toBe(0);
      reached.hits += busy.engine.figures().prefixLookups.hit;
      const { draftedTokens, acceptedTokens } = busy.engine.figures().speculation;
      reached.accepted += acceptedTokens;
      reached.refused += draftedTokens - acceptedTokens;
      reached.preemptions += busy.engine.figures().preemptions;
      for (const toy of [cold, busy]) await toy.engine.close(new Error('test is over'));
    }),
    { numRuns: 300 },
  );
  expect(reached.hits).toBeGreaterThan(20);
  expect(reached.preemptions).toBeGreaterThan(20);
  expect(reached.accepted).toBeGreaterThan(30);
  expect(reached.refused).toBeGreaterThan(10);
});

it('says how many prompt tokens were not computed, and computes at least 64', async () => {
  const toy = open({}, 2);
  const usageOf = async (tail: string) => {
    const request = requestOf(
      { prefix: 2, tail, priority: 'normal', adapter: null, seed: null, tokensMax: 2, delayMs: 0, leavesAfter: null },
      {},
    );
    for await (const event of toy.engine.generate(request, new AbortController().signal)) if (event.kind === 'finished') return event.usage;
    throw new Error('no end');
  };
  const first = await usageOf('one');
  expect(first.cachedTokens).toBe(0);
  const second = await usageOf('one');
  expect(second.promptTokens - second.cachedTokens).toBe(64);
  const third = await usageOf('another tail');
  expect(third.cachedTokens).toBeGreaterThan(200);
  await toy.engine.close(new Error('test is over'));
});

it.each([false, true])(
  'a next turn takes over the rows of the answer before it only where that is asked for (answerRowsReused %s)',
  async (answerRowsReused) => {
    const toy = open({ answerRowsReused }, 2);
    expect(toy.engine.abilities.sameTextUnderLoad).toBe(!answerRowsReused);
    const prompt = 'the beginning of a conversation that goes on for a while, and on, and on '.repeat(2);
    const ask = async (text: string) => {
      const sampling = { ...plainSampling, tokensMax: 150, ignoreEnd: true };
      let said = '';
      for await (const event of toy.engine.generate(
        { requestId: 'r', model: 'default', messages: [], prompt: text, priority: 'normal', sampling },
        new AbortController().signal,
      )) {
        if (event.kind === 'text') said += event.text;
        if (event.kind === 'finished') return { said, usage: event.usage };
      }
      throw new Error('no end');
    };
    const first = await ask(prompt);
    const second = await ask(`${prompt}${first.said}${' And then, what was it that came after all of this? '.repeat(2)}`);
    if (answerRowsReused) expect(second.usage.cachedTokens).toBeGreaterThan(first.usage.promptTokens + 64);
    else expect(second.usage.cachedTokens).toBeLessThanOrEqual(first.usage.promptTokens);
    await toy.engine.close(new Error('test is over'));
  },
);

it('runs a request beside one of a higher priority later, where it stopped, and everyone when more wait than there are sequences', async () => {
  const toy = open({ sequenceTurnMs: 100 }, 1);
  const ask = (tail: string, priority: Work['priority']) =>
    answer(
      toy,
      requestOf({ prefix: 0, tail, priority, adapter: null, seed: null, tokensMax: 30, delayMs: 0, leavesAfter: null }, {}),
      null,
    );
  const ended: string[] = [];
  const low = ask('first', 'low').then(() => ended.push('low'));
  await toy.clock.sleep(20, new AbortController().signal);
  await Promise.all([
    low,
    ask('second', 'critical').then(() => ended.push('critical')),
    ...['x', 'y', 'z'].map((tail) => ask(tail, 'normal')),
  ]);
  expect(ended).toEqual(['critical', 'low']);
  expect(toy.engine.figures().preemptions).toBeGreaterThan(0);
  await toy.engine.close(new Error('test is over'));
});

it.each(['exportSequence', 'importSequence'] as const)(
  'a failing %s costs computing again, never a request or its neighbours',
  async (method) => {
    let failures = 0;
    const broken = (backend: StepBackend): StepBackend =>
      withMethods(backend, {
        [method]: () => {
          failures++;
          throw method === 'exportSequence' ? new RangeError('no memory') : platformError('KV_STATE_INVALID', 'not taken');
        },
      });
    const [well, toy] = [open({}, 4), open({ sequenceTurnMs: 100, sequenceTurnTokensMin: 2 }, 2, broken)];
    const all = ['one', 'two', 'three', 'four', 'one'].map((tail, i) =>
      requestOf(
        {
          prefix: 1 + (i % 2),
          tail,
          priority: i % 2 ? 'high' : 'low',
          adapter: null,
          seed: null,
          tokensMax: 30,
          delayMs: 0,
          leavesAfter: null,
        },
        {},
      ),
    );
    const expected: (string | undefined)[] = [];
    for (const one of all) expected.push(await answer(well, one, null));
    expect(await Promise.all(all.map((one) => answer(toy, one, null)))).toEqual(expected);
    expect(await answer(toy, all[0] as GenerateRequest, null)).toBe(expected[0]);
    expect(failures).toBeGreaterThan(0);
    expect(toy.engine.load()).toMatchObject({ pendingLlmRequests: 0, sequencesBusy: 0 });
    expect(toy.engine.figures().store).toMatchObject({ held: 0, ...(method === 'exportSequence' && { cached: 0 }) });
    for (const engine of [well, toy]) await engine.engine.close(new Error('test is over'));
  },
);

it('suspends for want of pages once, and lets the request back when the others have left room', async () => {
  const toy = open({ kvCellPagesMax: 60, kvHeadroomPages: 4 }, 2);
  const long = (tail: string) =>
    requestOf({ prefix: 1, tail, priority: 'normal', adapter: null, seed: null, tokensMax: 400, delayMs: 0, leavesAfter: null }, {});
  const asked = ['a', 'b'].map(long).map((one) => ({ ...one, sampling: { ...one.sampling, ignoreEnd: true } }));
  const texts = await Promise.all(asked.map((one) => answer(toy, one, null)));
  expect(texts.every((text) => (text?.length ?? 0) > 300)).toBe(true);
  expect(toy.engine.figures().preemptions).toBe(1);
  await toy.engine.close(new Error('test is over'));
});

/** What a step may be for. Drafted rows are those of one sequence that all want logits. */
const stages: { readonly [stage: string]: (rows: readonly BackendRow[]) => boolean } = {
  'the first piece of its prompt is computed': (rows) => rows[0]?.position === 0,
  'the last piece of its prompt is computed': (rows) => rows.length > 1 && rows.filter(({ wantLogits }) => wantLogits).length === 1,
  'a token of its answer is drawn': (rows) => rows.length === 1,
  'drafted rows of its answer are verified': (rows) => rows.length > 1 && rows.every(({ wantLogits }) => wantLogits),
};

it.each(Object.keys(stages))(
  'gives back sequence and pages of a request that is cancelled while %s, before that step is over (R19)',
  async (stage) => {
    const abort = new AbortController();
    const seen: object[] = [];
    const watch = (backend: StepBackend): StepBackend => {
      const holds = () => ({
        sequencesBusy: toy.engine.load().sequencesBusy,
        pages: toy.engine.figures().cells.held > 0,
        rows: backend.sequenceLength(0) > 0,
      });
      return withMethods(backend, {
        decode: (rows) => {
          backend.decode(rows);
          // Where a cycle ends and the time of its step begins.
          if (seen.length === 0 && stages[stage]?.(rows))
            queueMicrotask(() => {
              seen.push(holds());
              abort.abort();
              seen.push(holds());
            });
        },
      });
    };
    const toy = open({ draftGainMin: 1, draftLossShareMax: 0.5 }, 2, watch);
    const work = { prefix: 3, priority: 'normal', adapter: null, seed: null, tokensMax: 60, delayMs: 0, leavesAfter: null } as const;
    const asked = requestOf({ ...work, tail: 'once more '.repeat(60) }, {});
    const events = async () => {
      for await (const event of toy.engine.generate(asked, abort.signal)) expect(event.kind).not.toBe('finished');
    };
    await expect(events()).rejects.toMatchObject({ code: 'CANCELLED' });
    expect(seen).toEqual([
      { sequencesBusy: 1, pages: true, rows: true },
      { sequencesBusy: 0, pages: false, rows: false },
    ]);
    const whole = script[0]?.answer;
    expect(await answer(toy, requestOf({ ...work, tail: 'again' }, {}), null)).toBe(whole?.slice(0, 60));
    expect(toy.engine.figures().store.held).toBe(0);
    await toy.engine.close(new Error('test is over'));
  },
);

it('computes the prompt of several choices once: the others take it over but for its last 64 tokens (R22)', async () => {
  const toy = open({}, 4);
  const asked = requestOf(
    { prefix: 2, tail: 'one', priority: 'normal', adapter: null, seed: null, tokensMax: 8, delayMs: 0, leavesAfter: null },
    {},
  );
  const usageOf = async (seed: number) => {
    const choice = { ...asked, sampling: { ...asked.sampling, temperature: 1, seed } };
    for await (const event of toy.engine.generate(choice, new AbortController().signal)) if (event.kind === 'finished') return event.usage;
    throw new Error('no end');
  };
  const usages = await Promise.all([1, 2, 3].map(usageOf));
  const [promptTokens = 0] = usages.map((usage) => usage.promptTokens);
  expect(promptTokens).toBeGreaterThan(300);
  expect(usages.map(({ cachedTokens }) => cachedTokens)).toEqual([0, promptTokens - 64, promptTokens - 64]);
  await toy.engine.close(new Error('test is over'));
});
