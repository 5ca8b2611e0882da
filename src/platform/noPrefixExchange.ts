import { platformError } from './errors.js';
import type { PrefixExchange } from './ModelService.js';

/** Of what shares no prefixes. */
export const noPrefixExchange: PrefixExchange = {
  prefixOf: async () => undefined,
  readPrefix: async ({ digest }) => {
    throw platformError('KV_PREFIX_UNKNOWN', `this shard's model shares no prefixes, so it has no rows of ${digest}`);
  },
  writePrefix: async () => {
    throw platformError('KV_PREFIX_MISMATCH', "this shard's model shares no prefixes", { data: { field: 'abilities' } });
  },
};
