export interface PrefixScope {
  readonly modelDigest: string;
  /** Key of the adapter; empty = the base model. */
  readonly adapter: string;
}

/** What rows may be shared within, as one text: another adapter, or another scale of it, computes other rows. */
export const prefixScope = {
  of: ({ modelDigest, adapter }: PrefixScope): string => `${modelDigest}/${adapter}`,
  adapterOf: (scope: string): string => scope.slice(scope.indexOf('/') + 1),
};
