import { expect, it } from 'vitest';
import { asId, type JsonValue, type ShardId } from '../../base/index.js';
import { noPrefixExchange, type PrefixExchange } from '../../platform/index.js';
import { cooperationOptions } from '../options.js';
import { prefixMethods } from './prefixMethods.js';

const digest = '0123456789abcdef';
const { signal } = new AbortController();

const open = (readPrefix: PrefixExchange['readPrefix']) => {
  const options = cooperationOptions.parse({ prefixPieceBytes: 4096, prefixMovesMax: 1 });
  const methods = prefixMethods({ local: { ...noPrefixExchange, readPrefix }, fetcher: { fetch: async () => undefined }, options });
  const exportOf = methods['kv_prefix/export'] as NonNullable<(typeof methods)[string]>;
  return () => exportOf({ peerShardId: asId<ShardId>('b'), body: { digest, offset: 0 }, signal })[Symbol.asyncIterator]();
};

const part = (firstToken: number, offset: number) => ({
  header: { digest, facts: {}, tokens: Int32Array.from([firstToken, 2]), stateBytes: 8192 },
  offset,
  bytes: new Uint8Array(4096),
});

it('ends where the rows it sends are replaced by those of another prompt of the same beginning and length (E4)', async () => {
  const frames: (JsonValue | Uint8Array)[] = [];
  const reading = open(async ({ offset }) => part(offset === 0 ? 1 : 9, offset))();
  const rest = (async () => {
    for (let next = await reading.next(); !next.done; next = await reading.next()) frames.push(next.value);
  })();
  await expect(rest).rejects.toMatchObject({ code: 'KV_PREFIX_UNKNOWN' });
  expect(frames).toHaveLength(2); // the header and the one piece that was of it
});

it('sends so many at a time and no more, KV_PREFIX_BUSY, and again once one has ended', async () => {
  const start = open(async ({ offset }) => part(1, offset));
  const first = start();
  await first.next();
  await expect(start().next()).rejects.toMatchObject({ code: 'KV_PREFIX_BUSY' });
  await first.return?.();
  expect((await start().next()).done).toBe(false);
});
