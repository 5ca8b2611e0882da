import type { ModelHub } from '../platform/index.js';
import { HubClient } from '../platform/node/index.js';
import { cliError } from './errors.js';
import { hubLimits } from './hubLimits.js';

/**
 * The hub at `address`, else at HF_ENDPOINT, with the token of HF_TOKEN: the names that the hub's own clients use. Undefined where none is
 * named. Errors: USAGE.
 */
export function openHub(address: string | undefined): ModelHub | undefined {
  const given = address ?? (process.env['HF_ENDPOINT'] || undefined);
  if (given === undefined) return undefined;
  const endpoint = URL.canParse(given) ? new URL(given) : undefined;
  if (endpoint === undefined || !/^https?:$/.test(endpoint.protocol) || endpoint.username !== '' || endpoint.search !== '')
    throw cliError('USAGE', `${given} is no address of a hub: give https://host, or http://host:port`);
  return new HubClient({ endpoint, token: process.env['HF_TOKEN'] || undefined }, hubLimits);
}
