import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MemoryStore } from '../../test/support/MemoryStore.js';
import { ChecksummedStore } from './ChecksummedStore.js';
import type { OrderedStore, StoreEntry } from './index.js';

describe('ChecksummedStore', () => {
  const range = { from: Uint8Array.of(0), to: Uint8Array.of(255, 255), entriesMax: 10 };
  const bytes = (options: { minLength: number; maxLength: number }) => fc.uint8Array(options);
  const rows = fc.record({ key: bytes({ minLength: 1, maxLength: 20 }), value: bytes({ minLength: 0, maxLength: 60 }) });
  /** A store whose one row was changed beneath the checksum. */
  const damaged = async (row: StoreEntry, change: (stored: Uint8Array) => StoreEntry): Promise<OrderedStore> => {
    const memory = new MemoryStore();
    await new ChecksummedStore(memory).commit([{ kind: 'put', ...row }]);
    const stored = memory.get(row.key) as Uint8Array;
    await memory.commit([
      { kind: 'delete', key: row.key },
      { kind: 'put', ...change(stored) },
    ]);
    return new ChecksummedStore(memory);
  };
  const damage = expect.objectContaining({ code: 'STORE_DAMAGED', retryable: false });

  it('finds every bit that changed, of the value or of the checksum', async () => {
    await fc.assert(
      fc.asyncProperty(rows, fc.nat(), async (row, at) => {
        const store = await damaged(row, (stored) => {
          const bit = at % (stored.length * 8);
          stored[bit >> 3] = (stored[bit >> 3] as number) ^ (1 << (bit & 7));
          return { key: row.key, value: stored };
        });
        expect(() => store.get(row.key)).toThrow(damage);
        expect(() => store.scan({ ...range, to: Uint8Array.of(255, 255, 255) })).toThrow(damage);
      }),
    );
  });

  it('finds a value that was cut off or stands under another key', async () => {
    await fc.assert(
      fc.asyncProperty(rows, fc.nat(), async ({ key, value }, length) => {
        const cut = await damaged({ key, value }, (stored) => ({ key, value: stored.slice(0, length % stored.length) }));
        expect(() => cut.get(key)).toThrow(damage);
        const other = Uint8Array.of(...key, 1);
        const moved = await damaged({ key, value }, (stored) => ({ key: other, value: stored }));
        expect(() => moved.get(other)).toThrow(damage);
      }),
    );
  });
});
