import type { PlantedBug } from './PlantedBug.js';
import { withCommit } from './withCommit.js';

const lostShare = 0.02;
/** Rows of kind `c` hold the newest version of a document (format 1). */
const currentTag = 0x63;

/** Now and then a commit leaves out one of its documents. */
export const lostWrite: PlantedBug = {
  wrapStore: (store, { random }) =>
    withCommit(store, (writes, room) => {
      const documents = writes.filter(({ kind, key }) => kind === 'put' && key[0] === currentTag);
      const isHit = documents.length > 0 && random.chance(lostShare);
      const lost = isHit ? random.pick(documents) : undefined;
      return store.commit(
        writes.filter((write) => write !== lost),
        room,
      );
    }),
};
