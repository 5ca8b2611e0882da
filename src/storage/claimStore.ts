import { utf8 } from '../base/index.js';
import type { MetadataStore, OrderedStore, Random } from '../platform/index.js';
import { storageError } from './errors.js';
import { keyLayout } from './KeyLayout.js';

const identityName = 'identity';

/**
 * Ties a shard to its store by an identity that stands in the store and in the metadata: a shard whose folder was removed or not mounted
 * must not come up empty and give partial answers for whole ones. The store has it first, so that a crash in between leaves no shard
 * without. Errors: STORE_MISSING, STORE_FOREIGN.
 */
export async function claimStore(parts: {
  readonly store: OrderedStore;
  readonly metadata: MetadataStore;
  readonly shardId: string;
  readonly random: Random;
  /** The documents of the shard are given up: the store that is there becomes its store. */
  readonly acceptEmpty: boolean;
}): Promise<void> {
  const { store, metadata, shardId, random, acceptEmpty } = parts;
  const key = `store/${shardId}`;
  const known = await metadata.read(key);
  const stored = store.get(keyLayout.meta(identityName));
  const found = stored && utf8.decode(stored);
  if (known !== undefined && known.value === found) return;
  if (known !== undefined && !acceptEmpty) throw refusal(shardId, found);
  const identity = found ?? [1, 2, 3, 4].map(() => random.uint32().toString(16).padStart(8, '0')).join('');
  if (found === undefined)
    await store.commit([{ kind: 'put', key: keyLayout.meta(identityName), value: utf8.encode(identity) }], 'reserve');
  await metadata.transact({ conditions: [], operations: [{ kind: 'put', key, value: identity }] });
}

const refusal = (shardId: string, found: string | undefined) =>
  found === undefined
    ? storageError('STORE_MISSING', `${shardId} had a store, and the one that it finds is new: its documents are not there`)
    : storageError('STORE_FOREIGN', `${shardId} finds a store that is not its own`);
