import type { PlantedBug } from './PlantedBug.js';

/** A commit is acknowledged before its fsync: a crash loses it, and a reader may come too early. */
export const earlyAck: PlantedBug = {
  wrapStore: (store) => ({
    engineName: store.engineName,
    keyBytesMax: store.keyBytesMax,
    get isFull() {
      return store.isFull;
    },
    get shortage() {
      return store.shortage;
    },
    refreshRoom: () => store.refreshRoom(),
    get: (key) => store.get(key),
    scan: (range) => store.scan(range),
    commit: async (writes, room) => {
      store.commit(writes, room).catch(() => undefined); // that nobody hears what the disk says is the fault
    },
    close: () => store.close(),
  }),
};
