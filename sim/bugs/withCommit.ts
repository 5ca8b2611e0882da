import type { OrderedStore } from '../../src/platform/index.js';

/** The store with another `commit`; everything else is its own. */
export function withCommit(store: OrderedStore, commit: OrderedStore['commit']): OrderedStore {
  return {
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
    commit,
    close: () => store.close(),
  };
}
