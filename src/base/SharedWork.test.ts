import { describe, expect, it } from 'vitest';
import { settle } from '../../test/support/ManualClock.js';
import { baseError } from './errors.js';
import { onAbort } from './onAbort.js';
import { SharedWork } from './SharedWork.js';

/** Work that ends by hand. */
const scripted = () => {
  const runs: { readonly signal: AbortSignal; readonly end: (value: string) => void; readonly fail: (error: Error) => void }[] = [];
  const start = (signal: AbortSignal): Promise<string> =>
    new Promise((end, fail) => {
      runs.push({ signal, end, fail });
    });
  return { runs, start };
};
const cancelled = expect.objectContaining({ code: 'CANCELLED' });

describe('work that several callers wait for', () => {
  it('runs once, whoever of them leaves first, and is aborted only when all have left', async () => {
    for (const leaver of [0, 1, 2]) {
      const { runs, start } = scripted();
      const shared = new SharedWork<string>();
      const callers = [0, 1, 2].map(() => new AbortController());
      const answers = callers.map(({ signal }) => shared.run('k', start, signal).catch((error: unknown) => error));
      callers[leaver]?.abort();
      expect(await answers[leaver]).toEqual(cancelled);
      expect([runs.length, runs[0]?.signal.aborted]).toEqual([1, false]);
      runs[0]?.end('done');
      expect((await Promise.all(answers)).filter((answer) => answer === 'done')).toHaveLength(2);
      expect(shared.size).toBe(0);
    }
    const { runs, start } = scripted();
    const shared = new SharedWork<string>();
    const callers = [0, 1].map(() => new AbortController());
    const answers = callers.map(({ signal }) => shared.run('k', start, signal).catch((error: unknown) => error));
    for (const caller of callers) caller.abort();
    expect(await Promise.all(answers)).toEqual([cancelled, cancelled]);
    expect(runs[0]?.signal.aborted).toBe(true);
  });

  it('that was left by all ends before it begins anew: never two run under one key', async () => {
    const { runs, start } = scripted();
    const shared = new SharedWork<string>();
    const first = new AbortController();
    const left = shared.run('k', start, first.signal).catch((error: unknown) => error);
    first.abort();
    await left;
    const late = [1, 2].map(() => shared.run('k', start, new AbortController().signal));
    const impatient = new AbortController();
    const gone = shared.run('k', start, impatient.signal).catch((error: unknown) => error);
    impatient.abort();
    expect(await gone).toEqual(cancelled);
    await settle();
    expect(runs).toHaveLength(1);
    runs[0]?.fail(new Error('stopped'));
    await settle();
    expect(runs).toHaveLength(2);
    runs[1]?.end('again');
    expect(await Promise.all(late)).toEqual(['again', 'again']);
  });

  it('fails for all with its own error, and by abort', async () => {
    const { runs, start } = scripted();
    const shared = new SharedWork<string>();
    const { signal } = new AbortController();
    const failing = [shared.run('k', start, signal), shared.run('k', start, signal)].map((one) =>
      one.catch(({ message }: Error) => message),
    );
    runs[0]?.fail(new Error('broken'));
    expect(await Promise.all(failing)).toEqual(['broken', 'broken']);
    const aborted = shared.run('k', (own) => new Promise((_, reject) => onAbort(own, () => reject(own.reason as Error))), signal);
    shared.abort('k', baseError('CANCELLED', 'over'));
    shared.abort('absent', baseError('CANCELLED', 'over'));
    await expect(aborted).rejects.toMatchObject({ code: 'CANCELLED', message: 'over' });
  });
});
