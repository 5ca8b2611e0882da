import type { AdapterCapabilityAnnouncement } from '../membership/index.js';
import { adapterKey } from '../platform/index.js';
import { fitsAdapter, type WantedAdapter } from '../routing/index.js';

type Announced = Pick<AdapterCapabilityAnnouncement, 'domain' | 'adapterDigest' | 'scale'>;

/** What the name of an adapter stands for. */
export type NamedAdapter<One extends Announced> =
  | { readonly kind: 'found'; readonly adapter: WantedAdapter }
  /** One or more digests or scales: what the name could mean. */
  | { readonly kind: 'ambiguous'; readonly choices: readonly One[] }
  | { readonly kind: 'unknown' };

const scaledName = /^(.+)@(\d{1,3}(?:\.\d{1,20})?(?:e-\d{1,2})?)$/;
/** As long as lists show it, or longer. */
const digestBeginning = /^[0-9a-f]{12,64}$/;

/**
 * Reads a name: a domain, a digest or its first 12 or more digits, either with `@scale` behind it (R21). A domain that is announced comes
 * first, whatever it looks like, and stands for the best of its adapters; a digest stands for one content with one scale, so that it is
 * ambiguous while several of these are announced.
 */
export function adapterNamed<One extends Announced>(name: string, announced: readonly One[]): NamedAdapter<One> {
  if (announced.some(({ domain }) => domain === name)) return { kind: 'found', adapter: { domain: name } };
  const [, base = name, scaleText] = scaledName.exec(name) ?? [];
  const scale = scaleText === undefined ? {} : { scale: Number(scaleText) };
  const ofDomain = { domain: base, ...scale };
  if (announced.some((one) => fitsAdapter(one, ofDomain))) return { kind: 'found', adapter: ofDomain };
  return digestBeginning.test(base)
    ? ofDigest(announced.filter((one) => one.adapterDigest.startsWith(base) && fitsAdapter(one, scale)))
    : { kind: 'unknown' };
}

function ofDigest<One extends Announced>(choices: readonly One[]): NamedAdapter<One> {
  const [first] = choices;
  if (first === undefined) return { kind: 'unknown' };
  const { adapterDigest: digest, scale } = first;
  const keys = new Set(choices.map((one) => adapterKey({ digest: one.adapterDigest, scale: one.scale })));
  return keys.size > 1 ? { kind: 'ambiguous', choices } : { kind: 'found', adapter: { digest, scale } };
}
