import { afterAll, describe, expect, it } from 'vitest';
import { orderedStoreConformance } from '../../src/platform/conformance/orderedStoreConformance.js';
import type { OrderedStore } from '../../src/platform/index.js';
import { RunningWorld } from '../world/RunningWorld.js';
import { SimProcess } from '../world/SimProcess.js';
import { SimDisk } from './SimDisk.js';
import { SimOrderedStore } from './SimOrderedStore.js';

const running = new RunningWorld();
afterAll(() => running.stop());
const disks = new Map<OrderedStore, SimDisk>();
let opened = 0;

const openOn = (disk: SimDisk): { readonly store: SimOrderedStore; readonly process: SimProcess } => {
  const { world } = running;
  const process = new SimProcess('shard');
  const store = new SimOrderedStore({ world, process, random: world.random.fork(`fsync ${opened++}`), disk, fsyncMs: { min: 1, max: 5 } });
  disks.set(store, disk);
  return { store, process };
};

orderedStoreConformance({
  name: 'simulated',
  open: async () => openOn(new SimDisk()).store,
  reopen: async (store) => openOn(disks.get(store) as SimDisk).store,
  dispose: (store) => store.close(),
});

describe('SimOrderedStore', () => {
  const key = Uint8Array.of(1);

  it('loses what was not fsynced when its process dies', async () => {
    let lost = 0;
    for (let i = 0; i < 20; i++) {
      const disk = new SimDisk();
      const { store, process } = openOn(disk);
      void store.commit([{ kind: 'put', key, value: key }]);
      process.kill();
      store.crash();
      if (disk.get(key) === undefined) lost++;
    }
    expect(lost).toBeGreaterThan(0);
    expect(lost).toBeLessThan(20);
  });

  it('refuses writes while its disk is full, and takes them again', async () => {
    const disk = new SimDisk();
    const { store } = openOn(disk);
    disk.isFull = true;
    await expect(store.commit([{ kind: 'put', key, value: key }])).rejects.toMatchObject({ code: 'STORE_FULL' });
    expect(store.get(key)).toBeUndefined();
    disk.isFull = false;
    await store.commit([{ kind: 'put', key, value: key }]);
    expect(store.get(key)).toEqual(key);
  });
});
