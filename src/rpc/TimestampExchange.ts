/** The hybrid clock as calls see it: every message carries `last`, every receiver observes it, so that effects come after causes. */
export interface TimestampExchange {
  last(): number;
  observe(timestamp: number): void;
}
