import { type JsonValue, utf8 } from '../../src/base/index.js';
import type { PlantedBug } from './PlantedBug.js';

const turnedShare = 0.05;

/** Now and then one participant is told to abort what the others commit. */
export const halfCommit: PlantedBug = {
  wrapTransport: (transport, { random }) => ({
    listen: (handler) => transport.listen(handler),
    close: () => transport.close(),
    call: (call) => {
      if (call.method !== 'transaction.decide' || !random.chance(turnedShare)) return transport.call(call);
      const body = JSON.parse(utf8.decode(call.body)) as { readonly [field: string]: JsonValue };
      return transport.call({ ...call, body: utf8.encode(JSON.stringify({ ...body, decision: { kind: 'abort' } })) });
    },
  }),
};
