/** Cuts a list into lists of at most `size`, in order. */
export function* chunked<Item>(items: readonly Item[], size: number): Generator<readonly Item[], void, void> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size);
}
