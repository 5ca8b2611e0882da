import type { StoreEntry } from './OrderedStore.js';

/** The first entries, up to the one whose value reaches `valueBytesMax` together with those before it. */
export function withinBytes<Entry extends Pick<StoreEntry, 'value'>>(
  entries: Iterable<Entry>,
  valueBytesMax = Number.POSITIVE_INFINITY,
): Entry[] {
  const taken: Entry[] = [];
  let bytes = 0;
  for (const entry of entries) {
    taken.push(entry);
    bytes += entry.value.length;
    if (bytes >= valueBytesMax) break;
  }
  return taken;
}
