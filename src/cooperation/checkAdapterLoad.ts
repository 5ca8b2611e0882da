import type { AdapterCapabilityAnnouncement } from '../membership/index.js';
import { cooperationError } from './errors.js';

/**
 * Whether a shard that announces `announced` may load one more: a domain names one adapter with one scale, so that unloading it is
 * unambiguous. The same once more is fine. Errors: ADAPTER_DOMAIN_TAKEN, ADAPTERS_FULL.
 */
export function checkAdapterLoad(
  asked: { readonly domain: string; readonly digest: string; readonly scale: number },
  announced: readonly Pick<AdapterCapabilityAnnouncement, 'domain' | 'adapterDigest' | 'scale'>[],
  adaptersMax: number,
): void {
  const { domain, digest, scale } = asked;
  const same = announced.filter((one) => one.domain === domain);
  const other = same.find((one) => one.adapterDigest !== digest || one.scale !== scale);
  if (other)
    throw cooperationError(
      'ADAPTER_DOMAIN_TAKEN',
      `domain ${domain} is served by adapter ${other.adapterDigest.slice(0, 12)} with scale ${other.scale}: unload it first`,
    );
  if (same.length === 0 && announced.length >= adaptersMax)
    throw cooperationError('ADAPTERS_FULL', `this shard serves ${announced.length} adapters, the limit is ${adaptersMax}`);
}
