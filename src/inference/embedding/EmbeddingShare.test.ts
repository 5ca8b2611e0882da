import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EmbeddingShare } from './EmbeddingShare.js';

describe('EmbeddingShare (R23)', () => {
  it('leaves chats the rest of the time, whatever passes and steps cost', () => {
    const ms = fc.integer({ min: 1, max: 400 });
    fc.assert(
      fc.property(fc.constantFrom(0.25, 0.5, 0.8), fc.array(fc.tuple(ms, ms), { minLength: 300, maxLength: 300 }), (part, costs) => {
        const share = new EmbeddingShare(part);
        let [withPass, all, passes] = [0, 0, 0];
        for (const [stepMs, passMs] of costs) {
          const runs = share.mayRun(1);
          const took = stepMs + (runs ? passMs : 0);
          share.took({ chat: 1, embedding: runs ? 100 : 0 }, took);
          all += took;
          if (!runs) continue;
          withPass += took;
          passes++;
        }
        expect(passes).toBeGreaterThan(5);
        expect(withPass - 800).toBeLessThanOrEqual(part * all); // the last one is not paid back yet
        expect(withPass + (passes + 1) * 800).toBeGreaterThan(part * all); // and no more is given than a step beyond
      }),
    );
  });

  it('holds nothing back where nobody chats, and owes nothing from then', () => {
    const share = new EmbeddingShare(0.5);
    share.took({ chat: 1, embedding: 100 }, 300);
    expect([share.mayRun(1), share.mayRun(0)]).toEqual([false, true]);
    share.took({ chat: 0, embedding: 100 }, 300);
    expect(share.mayRun(1)).toBe(true);
  });
});
