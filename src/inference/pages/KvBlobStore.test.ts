import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type KvBlob, KvBlobStore } from './KvBlobStore.js';

const state = new Uint8Array(0);

it('counts free + cached + held = total at every step, and drops the least recently used cached ones for room', () => {
  const step = fc.record({
    act: fc.constantFrom<'put' | 'touch' | 'drop'>('put', 'put', 'touch', 'drop'),
    tokens: fc.integer({ min: 1, max: 200 }),
    kind: fc.constantFrom<'cached' | 'held'>('cached', 'cached', 'held'),
    place: fc.nat(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      let present: KvBlob[] = []; // cached ones in the order of use
      const forget = (blob: KvBlob): void => {
        present = present.filter((other) => other !== blob);
      };
      const store = new KvBlobStore({
        pagesMax: 24,
        onEvict: (blob) => {
          expect(blob).toBe(present.find(({ kind }) => kind === 'cached'));
          forget(blob);
        },
      });
      for (const { act, tokens, kind, place } of steps) {
        const chosen = present[place % Math.max(1, present.length)];
        if (act === 'put' && store.hasRoomFor(tokens)) {
          const before = present;
          const blob = store.put(state, tokens, kind);
          expect(before.filter((other) => other.kind === 'held').every((other) => present.includes(other))).toBe(true);
          present = [...present, blob];
        } else if (act === 'touch' && chosen?.kind === 'cached') {
          store.touch(chosen);
          present = [...present.filter((other) => other !== chosen), chosen];
        } else if (act === 'drop' && chosen !== undefined) {
          store.drop(chosen);
          forget(chosen);
        }
        const { total, cached, held, free } = store.pages;
        const sum = (of: KvBlob['kind']) => present.filter((blob) => blob.kind === of).reduce((pages, blob) => pages + blob.pages, 0);
        expect({ total, cached, held, free }).toEqual({
          total: 24,
          cached: sum('cached'),
          held: sum('held'),
          free: 24 - sum('cached') - sum('held'),
        });
        expect(free).toBeGreaterThanOrEqual(0);
      }
    }),
  );
});

it('has no room for what held blobs leave none for', () => {
  const store = new KvBlobStore({ pagesMax: 4, onEvict: () => undefined });
  store.put(state, 48, 'held');
  expect([store.hasRoomFor(16), store.hasRoomFor(17)]).toEqual([true, false]);
  expect(() => store.put(state, 17, 'cached')).toThrow(expect.objectContaining({ code: 'INTERNAL' }));
});
