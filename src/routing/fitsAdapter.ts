import type { AdapterCapabilityAnnouncement } from '../membership/index.js';
import type { WantedAdapter } from './WantedAdapter.js';

/** Whether an announced adapter is what is asked for. */
export function fitsAdapter(
  announced: Pick<AdapterCapabilityAnnouncement, 'domain' | 'adapterDigest' | 'scale'>,
  { domain, digest, scale }: WantedAdapter,
): boolean {
  const fitsDomain = domain === undefined || announced.domain === domain;
  const fitsDigest = digest === undefined || announced.adapterDigest === digest;
  return fitsDomain && fitsDigest && (scale === undefined || announced.scale === scale);
}
