import type { OstrakaErrorJson } from '../base/index.js';

/** What a shard process tells the `up` that started it. */
export type ShardMessage =
  | { readonly kind: 'ready'; readonly shardId: string; readonly httpUrl: string; readonly rpcPort: number; readonly enginePid: number }
  | { readonly kind: 'failed'; readonly error: OstrakaErrorJson };

/** What `up` tells a shard. Losing the channel means the same as `stop`. */
export interface ShardCommand {
  readonly kind: 'stop';
}
