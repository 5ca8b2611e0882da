import { describe, expect, it } from 'vitest';
import { CrashSuspects } from './CrashSuspects.js';

const open = (suspectsMax = 8): CrashSuspects => new CrashSuspects({ quarantineMs: 1000, suspectsMax });
const { signal } = new AbortController();

describe('CrashSuspects', () => {
  it('runs suspects one at a time', async () => {
    const suspects = open();
    const leave = await suspects.enter(signal);
    let entered = false;
    const second = suspects.enter(signal).then((leaveSecond) => {
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
    const leave = await suspects.enter(signal);
    const impatient = new AbortController();
    const given = suspects.enter(impatient.signal);
    const last = suspects.enter(signal);
    impatient.abort();
    await expect(given).rejects.toMatchObject({ code: 'CANCELLED' });
    leave();
    (await last)();
  });

  it('holds nobody guilty of ends in which others ran too, however many', () => {
    const suspects = open();
    const both = ['a', 'b'].map((digest) => ({ digest, alone: false }));
    suspects.crashed(both, 0);
    expect(suspects.isSuspect('a')).toBe(true);
    suspects.crashed(both, 0);
    expect(() => suspects.check('a', 1)).not.toThrow();
    suspects.crashed([{ digest: 'a', alone: true }], 0);
    expect(() => suspects.check('a', 1)).toThrow(expect.objectContaining({ code: 'REQUEST_QUARANTINED' }));
    expect(() => suspects.check('b', 1)).not.toThrow();
  });

  it('forgets a suspect that is answered, one whose time is over, and the oldest beyond its bound', () => {
    const suspects = open(2);
    for (const digest of ['a', 'b', 'c']) {
      suspects.crashed([{ digest, alone: true }], 0);
    }
    expect(() => suspects.check('a', 1)).not.toThrow();
    expect(() => suspects.check('c', 999)).toThrow(expect.objectContaining({ code: 'REQUEST_QUARANTINED', retryable: false }));
    expect(() => suspects.check('c', 1000)).not.toThrow();
    suspects.answered('b');
    expect(() => suspects.check('b', 1)).not.toThrow();
  });
});
