/**
 * What `work` makes of each item, in order, with up to `aheadMax` of them at work. Ends at the first that fails, or with the failure of
 * `items` itself once those before it are done.
 */
export async function* inOrder<Item, Value>(
  items: Iterable<Item> | AsyncIterable<Item>,
  aheadMax: number,
  work: (item: Item) => Promise<Value>,
): AsyncGenerator<Value, void, void> {
  const running: Promise<Value>[] = [];
  for await (const one of settled(items)) {
    const begun = 'item' in one ? work(one.item) : Promise.reject<Value>(one.error);
    begun.catch(() => undefined); // whoever waits for it hears; nobody may, once one before it has failed
    running.push(begun);
    if (running.length >= aheadMax) yield await (running.shift() as Promise<Value>);
  }
  while (running.length > 0) yield await (running.shift() as Promise<Value>);
}

async function* settled<Item>(
  items: Iterable<Item> | AsyncIterable<Item>,
): AsyncGenerator<{ readonly item: Item } | { readonly error: unknown }> {
  try {
    for await (const item of items) yield { item };
  } catch (error) {
    yield { error };
  }
}
