/** A piece of work that goes on by itself. */
export interface TurnPart {
  /** Compared by identity: parts of one owner (a query, a request) share its turns. */
  readonly owner: object;
}

/** The event loop of a shard as work shares it: whoever works long asks between two pieces whether it may go on. */
export interface Turns {
  /**
   * Resolves at once while `part` (compared by identity) has the turn, else when its turn comes; in between the loop serves everybody
   * else. Errors: the signal's reason, QUEUE_FULL.
   */
  rest(part: TurnPart, signal: AbortSignal): Promise<void>;
}
