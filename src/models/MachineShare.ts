/** What `up` found free on its machine when it divided it, and between how many shards. */
export interface MachineShare {
  readonly shards: number;
  readonly freeBytes: number;
  readonly totalBytes: number;
}
