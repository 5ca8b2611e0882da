declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

/** Stable name of a shard in its cluster: `shard-0`. Never reused for another data folder. */
export type ShardId = Branded<'ShardId'>;

/** Names a string as one of the branded ids; the check of its form belongs to whoever parsed it. */
export function asId<Id extends ShardId>(text: string): Id {
  return text as Id;
}
