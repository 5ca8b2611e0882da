import { expect, it } from 'vitest';
import { type ShardChannel, sendToShard } from './sendToShard.js';

const gone = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });

/** As Node's `process.send` to a parent that was killed: without a callback its error is an event that nobody hears. */
const channelOf = (connected: boolean): ShardChannel & { readonly sent: unknown[] } => {
  const sent: unknown[] = [];
  return {
    connected,
    sent,
    send(message: unknown, callback?: (error: Error | null) => void) {
      if (!callback) throw gone;
      sent.push(message);
      callback(gone);
      return false;
    },
  };
};

it('a shard that has gone is no error of the engine child, for any message, and what waits for the sending goes on', () => {
  for (const connected of [true, false]) {
    const channel = channelOf(connected);
    let ended = 0;
    sendToShard(channel, { kind: 'pong' });
    sendToShard(channel, { kind: 'batch', items: [] }, () => ended++);
    expect([channel.sent.length, ended]).toEqual([connected ? 2 : 0, 1]);
  }
});
