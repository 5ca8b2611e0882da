declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

/** Stable name of a shard in its cluster: `shard-0`. Never reused for another data folder. */
export type ShardId = Branded<'ShardId'>;
/** Id of one client request; unique per cluster, so a retry carries the same id and is answered once. */
export type RequestId = Branded<'RequestId'>;
/** Id of a transaction: `<coordinator shard>:<number>`. Its outcome can be asked for by this id (R6). */
export type TransactionId = Branded<'TransactionId'>;
/** Numeric identity of a collection as text; a dropped and re-created collection has another. */
export type CollectionId = Branded<'CollectionId'>;

/** Names a string as one of the branded ids; the check of its form belongs to whoever parsed it. */
export function asId<Id extends ShardId | RequestId | TransactionId | CollectionId>(text: string): Id {
  return text as Id;
}
