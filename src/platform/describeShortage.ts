import { describeBytes } from '../base/index.js';
import type { StoreShortage } from './OrderedStore.js';

/** What a full store lacks, for people; begins with a space, and is empty where nobody counts. */
export function describeShortage(shortage: StoreShortage | undefined): string {
  return shortage ? ` (${describeBytes(shortage.freeBytes)} free, writes need ${describeBytes(shortage.neededBytes)})` : '';
}
