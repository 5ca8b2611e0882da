/** What computes rows besides the model (R21): the content of an adapter file, and how strongly it is added. Never a name. */
export interface AdapterIdentity {
  /** SHA-256 of the file, hex. */
  readonly digest: string;
  /** Factor of what the file adds to the model's weights. */
  readonly scale: number;
}
