/** A model for the shards, by the file it is in. */
export interface ModelFile {
  readonly name: string;
  readonly path: string;
  readonly digest: string;
}
