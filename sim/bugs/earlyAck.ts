import type { PlantedBug } from './PlantedBug.js';
import { withCommit } from './withCommit.js';

/** A commit is acknowledged before its fsync: a crash loses it, and a reader may come too early. */
export const earlyAck: PlantedBug = {
  wrapStore: (store) =>
    withCommit(store, async (writes, room) => {
      store.commit(writes, room).catch(() => undefined); // that nobody hears what the disk says is the fault
    }),
};
