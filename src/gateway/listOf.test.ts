import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { checkBody } from './checkBody.js';
import { listOf } from './listOf.js';

const message = z.strictObject({ role: z.enum(['user', 'tool']), parts: listOf(z.strictObject({ text: z.string() })).optional() });
const body = z.strictObject({
  messages: listOf(message, { min: 1, max: 2000 }),
  tokens: z.union([z.string(), listOf(z.int())]).optional(),
});

describe('a list of a body', () => {
  it('is read whole where it is right', () => {
    const given = { messages: [{ role: 'user', parts: [{ text: 'a' }, { text: 'b' }] }, { role: 'tool' }], tokens: [1, 2] };
    expect(checkBody(body, given)).toEqual(given);
  });

  it.each([
    [{ messages: 7 }, 'messages', /expected array/],
    [{ messages: [] }, 'messages', /Too small/],
    [{ messages: Array.from({ length: 2001 }, () => ({ role: 'user' })) }, 'messages', /Too big/],
    [{ messages: [{ role: 'user' }, { role: 'x' }, 7] }, 'messages.1.role', /expected one of/],
    [{ messages: [{ role: 'user', parts: [{ text: 'a' }, { text: 7 }, 7] }] }, 'messages.0.parts.1.text', /expected string/],
    [{ messages: [{ role: 'user', other: 1 }] }, 'messages.0', /Unrecognized key/],
  ])('is refused at its first wrong item, which is named: %#', (given, param, message) => {
    expect(() => checkBody(body, given)).toThrow(
      expect.objectContaining({ code: 'PARAMETER_BAD', message: expect.stringMatching(message), data: { param } }),
    );
  });

  it('costs no more where millions of its items are wrong', () => {
    const wrong = new Array(3_000_000).fill('x');
    const bodies = [{ messages: [{ role: 'user', parts: wrong }] }, { messages: [{ role: 'user' }], tokens: wrong }];
    for (const given of bodies) {
      const startedMs = performance.now();
      expect(() => checkBody(body, given)).toThrow(expect.objectContaining({ code: 'PARAMETER_BAD' }));
      expect(performance.now() - startedMs).toBeLessThan(1000); // collected, they take ten seconds
    }
  });
});
