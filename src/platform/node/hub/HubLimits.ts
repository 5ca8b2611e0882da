/** Bounds of what a hub may do. */
export interface HubLimits {
  /** Of one request. */
  readonly redirectsMax: number;
  /** A question about a file or a repository is answered within this, ms. */
  readonly answerMsMax: number;
  /** Largest list of files, bytes. */
  readonly answerBytesMax: number;
  /** Times in a row that a download is begun or resumed without progress between. */
  readonly attemptsMax: number;
  /** Wait before a download is resumed; it doubles with each attempt in a row, ms. */
  readonly retryDelayMs: number;
  /** In every such time `progressBytesMin` must come, or the connection is given up, ms. */
  readonly progressMs: number;
  readonly progressBytesMin: number;
  /** Room that a download leaves on the disk. */
  readonly reserveBytes: number;
}
