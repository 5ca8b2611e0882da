import type { OstrakaError } from '../base/index.js';
import type { AdapterCapabilityAnnouncement } from '../membership/index.js';
import { cooperationError } from './errors.js';

// An error is read by people, and travels in an answer.
const choicesMax = 16;

/** ADAPTER_AMBIGUOUS with what the name could mean. */
export function ambiguousAdapter(
  name: string,
  choices: readonly Pick<AdapterCapabilityAnnouncement, 'domain' | 'adapterDigest' | 'scale'>[],
): OstrakaError {
  const listed = choices.slice(0, choicesMax);
  const texts = listed.map(({ domain, adapterDigest, scale }) => `${domain} (${adapterDigest.slice(0, 12)}@${scale})`);
  const data = listed.map(({ domain, adapterDigest, scale }) => ({ domain, adapter: adapterDigest, scale }));
  return cooperationError('ADAPTER_AMBIGUOUS', `adapter ${name} may be ${[...new Set(texts)].join(', or ')}`, { data: { choices: data } });
}
