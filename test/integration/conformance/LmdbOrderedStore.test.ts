import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { orderedStoreConformance } from '../../../src/platform/conformance/orderedStoreConformance.js';
import type { OrderedStore } from '../../../src/platform/index.js';
import { LmdbOrderedStore } from '../../../src/platform/node/index.js';

const folders = new Map<OrderedStore, string>();

const openIn = (folder: string): OrderedStore => {
  const store = new LmdbOrderedStore({ folder, removeReserveBytes: 65_536 });
  folders.set(store, folder);
  return store;
};

orderedStoreConformance({
  name: 'LMDB',
  open: async () => openIn(await mkdtemp(join(tmpdir(), 'ostraka-store-'))),
  // One process cannot open the folder twice; what a killed process leaves is tested with real processes (test/e2e).
  reopen: async (store) => {
    await store.close();
    return openIn(folders.get(store) as string);
  },
  dispose: async (store) => {
    await store.close();
    await rm(folders.get(store) as string, { recursive: true, force: true });
  },
});
