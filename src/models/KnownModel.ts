export type ModelKind = 'chat' | 'embedding';

/** A model that the user put into the cache under a name of his own. */
export interface ImportedModel {
  readonly name: string;
  readonly kind: ModelKind;
  /** Of the file when it was imported. */
  readonly digest: string;
  readonly bytes: number;
}

/** A model that goes by a name on this machine, whether its file is there or not. */
export interface KnownModel extends ImportedModel {
  readonly origin: 'pinned' | 'imported' | 'hub';
  /** Of pinned ones; what a user imports is his to know. */
  readonly licence: string | null;
  /** Where its file is, or belongs. */
  readonly path: string;
  readonly isThere: boolean;
  /** Of a hub: what its revision meant when it was last pulled. */
  readonly commit?: string;
}
