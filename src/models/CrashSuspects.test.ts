import { describe, expect, it } from 'vitest';
import { CrashSuspects } from './CrashSuspects.js';

const open = (suspectsMax = 8): CrashSuspects => new CrashSuspects({ quarantineCrashes: 2, quarantineMs: 1000, suspectsMax });
const { signal } = new AbortController();

describe('CrashSuspects', () => {
  it('runs suspects one at a time, and the others beside them', async () => {
    const suspects = open();
    suspects.crashed(['a', 'b'], 0);
    const leave = await suspects.enter('a', signal);
    await suspects.enter('other', signal);
    let entered = false;
    const second = suspects.enter('b', signal).then((leaveSecond) => {
      entered = true;
      leaveSecond();
    });
    await Promise.resolve();
    expect(entered).toBe(false);
    leave();
    await second;
    expect(entered).toBe(true);
  });

  it('lets those behind pass when one gives up waiting', async () => {
    const suspects = open();
    suspects.crashed(['a', 'b', 'c'], 0);
    const leave = await suspects.enter('a', signal);
    const impatient = new AbortController();
    const given = suspects.enter('b', impatient.signal);
    const last = suspects.enter('c', signal);
    impatient.abort();
    await expect(given).rejects.toMatchObject({ code: 'CANCELLED' });
    leave();
    (await last)();
  });

  it('forgets a suspect that is answered, one whose time is over, and the oldest beyond its bound', () => {
    const suspects = open(2);
    for (const digest of ['a', 'b', 'c']) {
      suspects.crashed([digest], 0);
      suspects.crashed([digest], 0);
    }
    expect(() => suspects.check('a', 1)).not.toThrow();
    expect(() => suspects.check('c', 999)).toThrow(expect.objectContaining({ code: 'REQUEST_QUARANTINED', retryable: false }));
    expect(() => suspects.check('c', 1000)).not.toThrow();
    suspects.answered('b');
    expect(() => suspects.check('b', 1)).not.toThrow();
  });
});
