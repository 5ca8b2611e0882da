/** A collection as the store knows it: the number names it in keys, the names give `_id`. */
export interface CollectionRef {
  readonly database: string;
  readonly name: string;
  /** Unique in the cluster; a collection dropped and created again has another. */
  readonly id: number;
  readonly kind: 'document' | 'edge';
}
