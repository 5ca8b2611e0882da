import { type JsonValue, utf8 } from '../../src/base/index.js';
import type { PlantedBug } from './PlantedBug.js';

const oldShare = 0.1;
/** A second and a half of the hybrid clock, which has 4,096 ticks a millisecond. */
const ageTicks = 1_500 * 4096;

interface Fragment {
  readonly transaction: { readonly readTimestamp: number; readonly [field: string]: JsonValue };
  readonly [field: string]: JsonValue;
}

/** Now and then one shard of a query reads an older snapshot than the others. */
export const oldSnapshot: PlantedBug = {
  wrapTransport: (transport, { random }) => ({
    listen: (handler) => transport.listen(handler),
    close: () => transport.close(),
    call: (call) => {
      if (call.method !== 'execution.fragment' || !random.chance(oldShare)) return transport.call(call);
      const body = JSON.parse(utf8.decode(call.body)) as Fragment;
      const readTimestamp = body.transaction.readTimestamp - ageTicks;
      const old = { ...body, transaction: { ...body.transaction, readTimestamp } };
      return transport.call({ ...call, body: utf8.encode(JSON.stringify(old)) });
    },
  }),
};
