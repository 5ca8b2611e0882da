/** Which adapters may answer: those that fit all that is given. A domain alone is a subject, served by the best of its adapters. */
export interface WantedAdapter {
  readonly domain?: string;
  /** SHA-256 of the file, hex. */
  readonly digest?: string;
  readonly scale?: number;
}
