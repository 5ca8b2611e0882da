// A process that commits to an LmdbOrderedStore of the built product and acknowledges each commit on standard output once it is durable.
// Arguments: folder, commits in flight, commits in all (-1 = until it is ended).
import { writeSync } from 'node:fs';
import { LmdbOrderedStore } from '../../dist/src/platform/node/LmdbOrderedStore.js';

const [folder, inFlight, total] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
const store = new LmdbOrderedStore({ folder, removeReserveBytes: 0 });
const bytesOf = (text) => new TextEncoder().encode(text);
let next = 0;

const commitOn = async () => {
  while (total === -1 || next < total) {
    const number = String(next++);
    // Two keys, so that half a commit would show.
    await store.commit(['a', 'b'].map((name) => ({ kind: 'put', key: bytesOf(`${name}/${number}`), value: bytesOf(number.repeat(20)) })));
    writeSync(1, `${number}\n`);
  }
};
await Promise.all(Array.from({ length: inFlight }, commitOn));
await store.close();
