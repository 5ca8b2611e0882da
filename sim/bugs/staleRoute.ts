import { type JsonValue, utf8 } from '../../src/base/index.js';
import type { PlantedBug } from './PlantedBug.js';

interface Entry {
  readonly shardId: string;
  readonly announcements: readonly JsonValue[];
}

/**
 * Gossip that was sent keeps saying of other shards, and of the own one, what was announced first: an adapter that has gone is still
 * chosen, and one that came is not.
 */
export const staleRoute: PlantedBug = {
  wrapTransport: (transport) => {
    const firstSaid = new Map<string, readonly JsonValue[]>();
    const frozen = (entry: Entry): Entry => {
      const known = firstSaid.get(entry.shardId);
      if (known === undefined && entry.announcements.length > 0) firstSaid.set(entry.shardId, entry.announcements);
      return known === undefined ? entry : { ...entry, announcements: known };
    };
    return {
      close: () => transport.close(),
      call: (call) => transport.call(call),
      listen: (handler) =>
        transport.listen((call) => {
          if (call.method !== 'gossip.push' && call.method !== 'gossip.exchange') return handler(call);
          const body = JSON.parse(utf8.decode(call.body)) as { readonly entries: readonly Entry[] };
          return handler({ ...call, body: utf8.encode(JSON.stringify({ ...body, entries: body.entries.map(frozen) })) });
        }),
    };
  },
};
