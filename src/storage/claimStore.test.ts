import { describe, expect, it } from 'vitest';
import { MemoryMetadata } from '../../test/support/MemoryMetadata.js';
import { MemoryStore } from '../../test/support/MemoryStore.js';
import { CountingRandom } from '../../test/support/silentPorts.js';
import { claimStore } from './claimStore.js';

describe('claimStore', () => {
  const open = () => {
    const metadata = new MemoryMetadata();
    const random = new CountingRandom();
    const claim = (store: MemoryStore, shardId = 'shard-0', acceptEmpty = false) =>
      claimStore({ store, metadata, shardId, random, acceptEmpty });
    return { metadata, claim };
  };

  it('takes a new store once, and the same one at every start', async () => {
    const { claim } = open();
    const store = new MemoryStore();
    await claim(store);
    await claim(store);
    expect(store.size).toBe(1);
  });

  it('refuses an empty store in the place of one that was there (STORE_MISSING), and writes nothing to it', async () => {
    const { claim } = open();
    await claim(new MemoryStore());
    const empty = new MemoryStore();
    await expect(claim(empty)).rejects.toMatchObject({ code: 'STORE_MISSING' });
    expect(empty.size).toBe(0);
  });

  it('refuses the store of another shard (STORE_FOREIGN)', async () => {
    const { claim } = open();
    const [own, other] = [new MemoryStore(), new MemoryStore()];
    await claim(own, 'shard-0');
    await claim(other, 'shard-1');
    await expect(claim(other, 'shard-0')).rejects.toMatchObject({ code: 'STORE_FOREIGN' });
  });

  it('takes the empty store where its documents are given up, and then refuses the old one', async () => {
    const { claim } = open();
    const old = new MemoryStore();
    await claim(old);
    const empty = new MemoryStore();
    await claim(empty, 'shard-0', true);
    await claim(empty);
    await expect(claim(old)).rejects.toMatchObject({ code: 'STORE_FOREIGN' });
  });

  it('goes on where a crash came between the store and the metadata, or the metadata was made anew', async () => {
    const first = open();
    const store = new MemoryStore();
    await first.claim(store);
    const { claim } = open();
    await claim(store);
    await claim(store);
    expect(store.size).toBe(1);
  });
});
