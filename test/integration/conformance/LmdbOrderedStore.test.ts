import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { orderedStoreConformance } from '../../../src/platform/conformance/orderedStoreConformance.js';
import { ChecksummedStore, type OrderedStore } from '../../../src/platform/index.js';
import { LmdbOrderedStore } from '../../../src/platform/node/index.js';

const folders = new Map<OrderedStore, string>();

const open = (folder: string, wrap: (store: OrderedStore) => OrderedStore): OrderedStore => {
  const store = wrap(new LmdbOrderedStore({ folder, removeReserveBytes: 65_536 }));
  folders.set(store, folder);
  return store;
};

const conformance = (name: string, wrap: (store: OrderedStore) => OrderedStore): void =>
  orderedStoreConformance({
    name,
    open: async () => open(await mkdtemp(join(tmpdir(), 'ostraka-store-')), wrap),
    // One process cannot open the folder twice; what a killed process leaves is tested with real processes (test/e2e).
    reopen: async (store) => {
      await store.close();
      return open(folders.get(store) as string, wrap);
    },
    dispose: async (store) => {
      await store.close();
      await rm(folders.get(store) as string, { recursive: true, force: true });
    },
  });

conformance('LMDB', (store) => store);
conformance('LMDB with checksums', (store) => new ChecksummedStore(store));
