import type { EngineProgress, StoreShortage } from '../platform/index.js';

/** Whether a shard takes requests, as GET /health/ready tells. `store` full: it takes them, but no writes other than removals. */
export interface Readiness {
  readonly ready: boolean;
  readonly store: 'ok' | 'full';
  readonly reason: string;
  /** Of a full store. */
  readonly shortage: StoreShortage | undefined;
  /** Of an engine that starts, where it tells. */
  readonly engine?: EngineProgress;
}
