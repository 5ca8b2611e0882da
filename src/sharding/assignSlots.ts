import type { ShardId } from '../base/index.js';
import { slotCount } from './slotOf.js';

/**
 * Owners of all slots for a set of shards, moving as few as possible from the present owners (R5): every shard gets
 * floor(4096/n) or one more, first those that hold more already; a slot moves only if its owner is gone or holds more than its share.
 * Pure and deterministic.
 */
export function assignSlots(shardIds: readonly ShardId[], present: readonly ShardId[] = []): ShardId[] {
  const shares = sharesOf(shardIds, present);
  const owners: (ShardId | undefined)[] = Array.from({ length: slotCount }, (_, slot) => keepIfWithinShare(present[slot], shares));
  const wanting = shardIds.filter((id) => (shares.get(id) ?? 0) > 0);
  return owners.map((owner) => {
    if (owner !== undefined) return owner;
    while ((shares.get(wanting[0] as ShardId) ?? 0) === 0) wanting.shift();
    return take(wanting[0] as ShardId, shares);
  });
}

const sharesOf = (shardIds: readonly ShardId[], present: readonly ShardId[]): Map<ShardId, number> => {
  const base = Math.floor(slotCount / shardIds.length);
  const held = new Map<ShardId, number>(shardIds.map((id) => [id, 0]));
  for (const id of present) held.set(id, (held.get(id) ?? 0) + 1);
  const holdsMore = (id: ShardId): number => ((held.get(id) ?? 0) > base ? 0 : 1);
  const byNeed = [...shardIds].sort((left, right) => holdsMore(left) - holdsMore(right));
  return new Map(byNeed.map((id, i) => [id, base + (i < slotCount % shardIds.length ? 1 : 0)] as const));
};

const take = (id: ShardId, shares: Map<ShardId, number>): ShardId => {
  shares.set(id, (shares.get(id) ?? 0) - 1);
  return id;
};

const keepIfWithinShare = (owner: ShardId | undefined, shares: Map<ShardId, number>): ShardId | undefined =>
  owner !== undefined && (shares.get(owner) ?? 0) > 0 ? take(owner, shares) : undefined;
