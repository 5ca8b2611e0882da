import { documentUrn, xxh64 } from '../base/index.js';

/** Slots of the ring: equal arcs of the 64-bit hash space (R5). */
export const slotCount = 4096;

/** Slot of a document: the top 12 bits of xxh64 of its URN. */
export function slotOf(document: { readonly database: string; readonly collection: string; readonly key: string }): number {
  return slotOfHash(xxh64(documentUrn(document.database, document.collection, document.key)));
}

export const slotOfHash = (hash: bigint): number => Number(hash >> 52n);
