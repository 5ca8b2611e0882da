import type { HubOffer } from '../platform/index.js';
import type { HubModel } from './HubModel.js';

/** `keep`: what is here is what would come. `changed`: other bytes stand behind the name than were recorded. */
export type PullPlan = 'fetch' | 'keep' | 'changed';

/** What a pull does, by what was recorded at the first one and what the hub offers now. Where the hub tells no digest, the bytes will. */
export function planPull(given: {
  readonly known: Pick<HubModel, 'digest' | 'commit'> | undefined;
  /** Its file is here, with the recorded digest. */
  readonly isWhole: boolean;
  readonly commit: string;
  readonly offer: HubOffer;
  readonly overwrite: boolean;
}): PullPlan {
  const { known, isWhole, commit, offer, overwrite } = given;
  if (known === undefined) return 'fetch';
  const isSame = offer.digest === undefined ? commit === known.commit : offer.digest === known.digest;
  if (isSame) return isWhole ? 'keep' : 'fetch';
  return offer.digest !== undefined && !overwrite ? 'changed' : 'fetch';
}
