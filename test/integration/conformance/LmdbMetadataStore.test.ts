import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { metadataStoreConformance } from '../../../src/platform/conformance/metadataStoreConformance.js';
import { LmdbMetadataStore, NodeClock } from '../../../src/platform/node/index.js';

const clock = new NodeClock();
let folder = '';

metadataStoreConformance({
  name: 'LMDB',
  open: async () => {
    folder = await mkdtemp(join(tmpdir(), 'ostraka-metadata-'));
    return [new LmdbMetadataStore({ folder, clock }), new LmdbMetadataStore({ folder, clock })];
  },
  pass: (ms) => clock.sleep(ms),
  dispose: async (stores) => {
    for (const store of stores) await store.close();
    await rm(folder, { recursive: true, force: true });
  },
});
