/**
 * Asks for the next item while its consumer works on the one before: one item ahead, no more. What fails ahead of time fails when its
 * turn comes; what nobody wants any more is ended.
 */
export async function* ahead<Item>(items: AsyncIterable<Item>): AsyncGenerator<Item, void, void> {
  const iterator = items[Symbol.asyncIterator]();
  const ask = (): Promise<IteratorResult<Item>> => {
    const next = iterator.next();
    next.catch(() => undefined); // heard when its turn comes, or never where the consumer stops before
    return next;
  };
  let next = ask();
  try {
    for (let current = await next; !current.done; current = await next) {
      next = ask();
      yield current.value;
    }
  } finally {
    // Not awaited: a generator that is in the middle of its work ends when that does, or with the query's signal.
    iterator.return?.()?.catch(() => undefined);
  }
}
