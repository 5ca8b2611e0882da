import { z } from 'zod';
import type { JsonValue } from '../base/index.js';
import type { RpcMethod } from '../rpc/index.js';
import { gossipDigest, gossipEntry } from './GossipEntry.js';
import type { GossipProtocol } from './GossipProtocol.js';

const entriesMax = 4096;
const pushed = z.strictObject({ entries: z.array(gossipEntry).max(entriesMax) });
const exchanged = z.strictObject({ entries: z.array(gossipEntry).max(entriesMax), digest: gossipDigest });

/** RPC methods of gossip. An entry with figures out of range is refused with the whole message: its sender is not one of ours. */
export function gossipMethods(gossip: GossipProtocol): { readonly [method: string]: RpcMethod } {
  return {
    'gossip.exchange': async function* ({ body }) {
      yield gossip.exchange(exchanged.parse(body)) as unknown as JsonValue;
    },
    'gossip.push': async function* ({ body }) {
      gossip.accept(pushed.parse(body).entries);
      yield null;
    },
  };
}
