import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ManualClock, settle } from '../../test/support/ManualClock.js';
import { CountingRandom } from '../../test/support/silentPorts.js';
import { planQuery } from '../aql/index.js';
import { asId, type JsonValue, type ShardId } from '../base/index.js';
import { FairTurns } from './FairTurns.js';
import { KeyGenerator } from './KeyGenerator.js';
import { openContext } from './openContext.js';
import { executionOptions } from './options.js';
import { QueryMemory } from './QueryMemory.js';
import type { ModelAccess, Site } from './SequenceContext.js';
import { SequenceRunner } from './SequenceRunner.js';
import type { TurnPart } from './Turns.js';

/** Time is work: it passes where `work` says so, and the loop turns where somebody sleeps. */
class LoopClock extends ManualClock {
  #worked = 0;
  #sinceTurn = 0;
  sinceTurnMax = 0;
  turns = 0;

  work(steps: number): void {
    this.#worked += steps;
    this.#sinceTurn += steps;
    this.sinceTurnMax = Math.max(this.sinceTurnMax, this.#sinceTurn);
  }

  override monotonicMs(): number {
    return this.#worked;
  }

  override async sleep(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    this.#sinceTurn = 0;
    this.turns++;
  }
}

const { signal } = new AbortController();
const options = executionOptions.parse({});

describe('turns of work on one event loop', () => {
  const paceMs = 5;
  const pieceMax = 3;
  /** An owner: the pieces of each of its parts. */
  const owners = fc.array(
    fc.array(fc.array(fc.integer({ min: 1, max: pieceMax }), { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 3 }),
    { minLength: 1, maxLength: 12 },
  );

  it('let it turn after a bounded number of steps, however many owners and parts work at once, and starve none', async () => {
    await fc.assert(
      fc.asyncProperty(owners, fc.constantFrom(1, 2, 8), async (given, turnsTogetherMax) => {
        const clock = new LoopClock();
        const turns = new FairTurns({ clock, options: { paceMs, turnsQueuedMax: 1000, turnsTogetherMax } });
        const seenAt = given.map((): number[] => []);
        const run = async (index: number, part: TurnPart, pieces: readonly number[]): Promise<void> => {
          for (const steps of pieces) {
            await turns.rest(part, signal);
            seenAt[index]?.push(clock.turns);
            clock.work(steps);
          }
        };
        await Promise.all(
          given.flatMap((parts, index) => {
            const owner = {};
            return parts.map((pieces) => run(index, { owner }, pieces));
          }),
        );
        expect(clock.sinceTurnMax).toBeLessThan(paceMs + pieceMax * turnsTogetherMax);
        expect(seenAt.map(({ length }) => length)).toEqual(given.map((parts) => parts.flat().length));
        for (const turnsOf of seenAt)
          for (const [i, at] of turnsOf.entries()) expect(at - (turnsOf[i - 1] ?? 0)).toBeLessThanOrEqual(given.length);
      }),
      { numRuns: 300, seed: 7 },
    );
  });

  it('are taken without a wait by whoever comes to an idle shard, and by the others when the loop has turned', async () => {
    const clock = new LoopClock();
    const turns = new FairTurns({ clock, options: { paceMs, turnsQueuedMax: 2, turnsTogetherMax: 8 } });
    const [first, second] = [{ owner: {} }, { owner: {} }];
    await turns.rest(first, signal);
    clock.work(1);
    await turns.rest(first, signal);
    expect(clock.turns).toBe(0);
    await turns.rest(second, signal);
    expect(clock.turns).toBe(1);
  });

  it('are shared by many while they are short, and by none as soon as one was long', async () => {
    const clock = new LoopClock();
    const turns = new FairTurns({ clock, options: { paceMs, turnsQueuedMax: 100, turnsTogetherMax: 8 } });
    const parts = Array.from({ length: 24 }, () => ({ owner: {} }));
    const round = async (steps: number): Promise<number> => {
      const before = clock.turns;
      await Promise.all(parts.map((part) => turns.rest(part, signal).then(() => clock.work(steps))));
      return clock.turns - before;
    };
    await round(0.01);
    expect(await round(0.01)).toBeLessThanOrEqual(4);
    await round(4);
    expect(await round(4)).toBeGreaterThanOrEqual(23);
  });

  it('are not waited for by what ends: it leaves the queue with the reason of its signal, which has a bound', async () => {
    const clock = new LoopClock();
    const turns = new FairTurns({ clock, options: { paceMs, turnsQueuedMax: 2, turnsTogetherMax: 1 } });
    const stop = new AbortController();
    await turns.rest({ owner: {} }, signal);
    const waiting = Promise.allSettled([turns.rest({ owner: {} }, stop.signal), turns.rest({ owner: {} }, signal)]);
    await expect(turns.rest({ owner: {} }, signal)).rejects.toMatchObject({ code: 'QUEUE_FULL' });
    stop.abort();
    await expect(turns.rest({ owner: {} }, stop.signal)).rejects.toMatchObject({ code: 'CANCELLED' });
    await turns.rest({ owner: {} }, signal);
    expect(await waiting).toMatchObject([{ status: 'rejected', reason: { code: 'CANCELLED' } }, { status: 'fulfilled' }]);
    await settle();
    expect(clock.turns).toBeLessThanOrEqual(3);
  });
});

describe('many heavy queries at once', () => {
  const stepsPerMs = 100;
  const queries = 40;
  /** Rows between two rests of one query at most: a block at each operator that works. */
  const blockSteps = 2 * 1000;

  const heavy: { readonly [name: string]: string } = {
    'a list': 'FOR i IN 1..4000 RETURN RAND()',
    'lists in lists': 'FOR i IN 1..4 FOR j IN 1..1000 RETURN RAND()',
    'a filter that keeps nothing': 'FOR i IN 1..4000 FILTER RAND() < 0 RETURN i',
    'a sort': 'FOR i IN 1..4000 LET r = RAND() SORT r RETURN r',
    groups: 'FOR i IN 1..4000 COLLECT g = FLOOR(RAND() * 9) WITH COUNT INTO n RETURN [g, n]',
    'distinct values': 'FOR i IN 1..4000 RETURN DISTINCT FLOOR(RAND() * 9)',
    subqueries: 'FOR i IN 1..40 LET l = (FOR j IN 1..100 RETURN RAND() + i) RETURN LENGTH(l)',
    'one subquery': 'LET l = (FOR j IN 1..4000 RETURN RAND()) RETURN LENGTH(l)',
  };

  it.each(Object.keys(heavy))('of %s let the loop turn after the steps of one turn, not of one for each query', async (name) => {
    const clock = new LoopClock();
    const turns = new FairTurns({ clock, options });
    const random = Object.assign(new CountingRandom(), {
      next: () => {
        clock.work(1 / stepsPerMs);
        return 0.5;
      },
    });
    const plan = planQuery({ text: heavy[name] as string });
    const run = async (): Promise<number> => {
      const part = { owner: {} };
      const context = openContext({
        turns,
        adapters: undefined,
        embedRows: undefined,
        part,
        random,
        options,
        signal,
        queryId: 'q',
        shardId: asId<ShardId>('s'),
        models: {} as ModelAccess,
        site: () => ({}) as Site,
        queryMemory: new QueryMemory(1e12),
        limits: { memoryLimitBytes: 1e9, warningsMax: 1, failOnWarning: false },
        nowMs: 0,
      });
      let rows = 0;
      await turns.rest(part, signal);
      const values: AsyncIterable<readonly JsonValue[]> = new SequenceRunner(context, new KeyGenerator({ clock, random })).values(
        plan.nodes,
        [],
      );
      for await (const block of values) rows += block.length;
      return rows;
    };
    const rows = await Promise.all(Array.from({ length: queries }, run));
    expect(new Set(rows).size).toBe(1);
    expect(clock.sinceTurnMax * stepsPerMs).toBeLessThanOrEqual(options.paceMs * stepsPerMs + blockSteps);
    expect(clock.turns).toBeGreaterThanOrEqual(queries);
  });
});
