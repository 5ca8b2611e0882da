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
        bytesMax: 24 * 16,
        bytesPerToken: 1,
        onEvict: (blob) => {
          expect(blob).toBe(present.find(({ kind }) => kind === 'cached'));
          forget(blob);
        },
      });
      for (const { act, tokens, kind, place } of steps) {
        const chosen = present[place % Math.max(1, present.length)];
        if (act === 'put' && store.hasRoomFor(tokens)) {
          const before = present;
          const blob = store.put(state, tokens, kind) as KvBlob;
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
  const store = new KvBlobStore({ bytesMax: 4 * 16 * 10, bytesPerToken: 10, onEvict: () => undefined });
  store.put(state, 48, 'held');
  expect([store.hasRoomFor(16), store.hasRoomFor(17)]).toEqual([true, false]);
  expect(store.put(state, 17, 'cached')).toBeUndefined();
  expect(store.pages).toEqual({ total: 4, cached: 0, held: 3, free: 1 });
});

it('counts a state by its bytes where these are more than was thought', () => {
  const store = new KvBlobStore({ bytesMax: 4 * 16 * 10, bytesPerToken: 10, onEvict: () => undefined });
  expect(store.put(new Uint8Array(2 * 16 * 10), 16, 'cached')?.pages).toBe(2);
  expect(store.put(new Uint8Array(5 * 16 * 10), 16, 'held')).toBeUndefined();
  expect(store.pages).toEqual({ total: 4, cached: 2, held: 0, free: 2 });
});
