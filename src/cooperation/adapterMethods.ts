import { z } from 'zod';
import type { JsonValue } from '../base/index.js';
import type { RpcMethod } from '../rpc/index.js';
import type { AdapterLoad, AdapterService } from './AdapterService.js';

const name = z.string().min(1).max(128);
const load = z.strictObject({
  domain: name,
  path: z.string().min(1).max(4_096),
  scale: z.number().min(0).max(100),
  accuracyDelta: z.number().min(-1).max(1).exactOptional(),
});
const unload = z.strictObject({ name });

/** RPC methods of adapters: what another shard was asked to do here. */
export function adapterMethods(adapters: AdapterService): { readonly [method: string]: RpcMethod } {
  return {
    'adapters.load': async function* ({ body, signal }) {
      yield (await adapters.load(load.parse(body) as AdapterLoad, signal)) as unknown as JsonValue;
    },
    'adapters.unload': async function* ({ body, signal }) {
      yield (await adapters.unload(unload.parse(body).name, signal)) as unknown as JsonValue;
    },
  };
}
