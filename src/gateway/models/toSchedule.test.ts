import { describe, expect, it } from 'vitest';
import { toSchedule } from './toSchedule.js';

const of = (headers: { readonly [name: string]: string }, streamed = true) => toSchedule({ headers }, { streamed, timeoutMs: 300_000 });

describe('toSchedule (R19)', () => {
  it('is normal, with the time of the gateway and nobody in particular, where nothing is said', () => {
    expect(of({}, false)).toEqual({ priority: 'normal', timeoutMs: 300_000, streamed: false });
  });

  it('takes priority and time from headers, and a digest of the key from wherever it stands', () => {
    const asked = of({ 'x-ostraka-priority': 'low', 'x-ostraka-timeout-ms': '1500', authorization: 'Bearer secret-of-one' });
    expect(asked).toMatchObject({ priority: 'low', timeoutMs: 1500, owner: expect.stringMatching(/^[0-9a-f]{16}$/) });
    expect(of({ 'x-api-key': 'secret-of-one' }).owner).toBe(asked.owner);
    expect(of({ authorization: 'Bearer another' }).owner).not.toBe(asked.owner);
  });

  it.each([
    ['x-ostraka-priority', 'urgent'],
    ['x-ostraka-timeout-ms', '0'],
    ['x-ostraka-timeout-ms', 'soon'],
    ['x-ostraka-timeout-ms', '300001'],
  ])('refuses %s: %s by name', (name, value) => {
    expect(() => of({ [name]: value })).toThrow(
      expect.objectContaining({ code: 'PARAMETER_BAD', data: expect.objectContaining({ param: name }) }),
    );
  });
});
