/**
 * Asks for the next item while its consumer works on the one before: one item ahead, no more, and none while `hasRoom` says no. What
 * fails ahead of time fails when its turn comes. What nobody wants any more is told to `stop`, and has ended when this has: a read under
 * way may still make a shard take part in the transaction, which must not happen after its participants are told the outcome.
 */
export async function* ahead<Item>(
  items: AsyncIterable<Item>,
  options: { readonly hasRoom: () => boolean; readonly stop: () => void },
): AsyncGenerator<Item, void, void> {
  const iterator = items[Symbol.asyncIterator]();
  const ask = (): Promise<IteratorResult<Item>> => {
    const next = iterator.next();
    next.catch(() => undefined); // heard when its turn comes, or never where the consumer stops before
    return next;
  };
  let next: Promise<IteratorResult<Item>> | undefined = ask();
  let ended = false;
  try {
    for (let current = await next; !current.done; current = await (next ?? ask())) {
      next = options.hasRoom() ? ask() : undefined;
      yield current.value;
    }
    ended = true;
  } finally {
    if (!ended) options.stop();
    await iterator.return?.()?.catch(() => undefined);
  }
}
