import type { EngineMessage } from './engineMessages.js';

/** The engine child's end of the channel; `process` is one. */
export interface ShardChannel {
  readonly connected: boolean;
  send?(message: unknown, callback: (error: Error | null) => void): boolean;
}

/**
 * Sends a message to the shard. One that cannot be sent is nobody's any more: the shard has gone, and the `disconnect` that follows ends
 * the child. Without a callback Node makes an error event of it, which would end the child by an unhandled `write EPIPE`.
 */
export function sendToShard(channel: ShardChannel, message: EngineMessage, onSent: () => void = () => undefined): void {
  if (channel.connected) channel.send?.(message, onSent);
  else onSent();
}
