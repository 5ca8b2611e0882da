import type { JsonValue } from '../../src/base/index.js';
import { rpcFrame } from '../../src/protocol/index.js';
import type { PlantedBug } from './PlantedBug.js';

const repeatedShare = 0.05;

type BatchFrame = { readonly kind: string; readonly index: number } & { readonly [field: string]: JsonValue };

/** An answer of a batch comes a second time, for the entry after its own. */
export const doubleAnswer: PlantedBug = {
  wrapTransport: (transport, { random }) => ({
    listen: (handler) => transport.listen(handler),
    close: () => transport.close(),
    call: async function* (call) {
      for await (const bytes of transport.call(call)) {
        yield bytes;
        if (call.method !== 'model.generateBatch' || !random.chance(repeatedShare)) continue;
        const frame = rpcFrame.decode(bytes);
        if (frame.kind !== 'json') continue;
        const value = frame.value as BatchFrame;
        if (value.kind === 'answer') yield rpcFrame.encode({ kind: 'json', value: { ...value, index: value.index + 1 } });
      }
    },
  }),
};
