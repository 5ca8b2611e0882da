import { z } from 'zod';
import type { ShardId } from '../../base/index.js';
import { type PrefixExchange, type PrefixHeader, type PrefixPiece, platformError } from '../../platform/index.js';
import { prefixEnvelope } from '../../protocol/index.js';
import type { RpcMethod } from '../../rpc/index.js';
import type { CooperationOptions } from '../options.js';
import { inOrder } from './inOrder.js';
import type { PrefixFetcher } from './PrefixFetcher.js';

const digest = z.string().regex(/^[0-9a-f]{16}$/);
const exportBody = z.strictObject({ digest, offset: z.int().min(0) });
const importBody = z.strictObject({ digest, holder: z.string().min(1).max(128) });

/**
 * The endpoints of rows between shards, peers only (R27): `/kv_prefix/export` answers with a header and pieces (`prefixEnvelope`), from an
 * offset on; `/kv_prefix/import` has this shard fetch a prefix from a holder. Errors: KV_PREFIX_UNKNOWN, KV_PREFIX_BUSY, and of an import those of PrefixFetcher.
 */
export function prefixMethods(parts: {
  readonly local: PrefixExchange;
  readonly fetcher: Pick<PrefixFetcher, 'fetch'>;
  readonly options: CooperationOptions;
}): { readonly [method: string]: RpcMethod } {
  const { local, fetcher, options } = parts;
  let exports = 0;
  return {
    'kv_prefix/export': async function* ({ body, signal }) {
      const { digest: asked, offset } = exportBody.parse(body);
      if (exports >= options.prefixMovesMax) throw platformError('KV_PREFIX_BUSY', `${exports} prefixes are read already`);
      exports++;
      try {
        const { prefixPieceBytes: bytesMax, prefixPiecesAhead: piecesAhead } = options;
        yield* frames(local, { digest: asked, offset, bytesMax, piecesAhead }, signal);
      } finally {
        exports--;
      }
    },
    'kv_prefix/import': async function* ({ body, signal }) {
      const { digest: asked, holder } = importBody.parse(body);
      await fetcher.fetch({ shardId: holder as ShardId, digest: asked }, signal);
      yield { outcome: 'moved' };
    },
  };
}

/** Pieces are asked for ahead: an engine answers between two steps, several calls as well as one. */
async function* frames(
  local: PrefixExchange,
  { piecesAhead, ...asked }: PrefixPiece & { readonly piecesAhead: number },
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, void> {
  const { header, bytes } = await local.readPrefix(asked, signal);
  yield prefixEnvelope.encodeHeader(header);
  if (bytes.length > 0) yield prefixEnvelope.encodePiece({ offset: asked.offset, bytes });
  const later = inOrder(offsetsFrom(asked.offset + bytes.length, header.stateBytes, asked.bytesMax), piecesAhead, (offset) =>
    local.readPrefix({ ...asked, offset }, signal),
  );
  for await (const part of later) {
    if (!isSame(part.header, header)) throw platformError('KV_PREFIX_UNKNOWN', `the rows of ${asked.digest} are held no more`);
    yield prefixEnvelope.encodePiece(part);
  }
}

const offsetsFrom = (first: number, end: number, step: number): readonly number[] =>
  Array.from({ length: Math.max(0, Math.ceil((end - first) / step)) }, (_, place) => first + place * step);

/** The buffer may have gone, and another prompt with this beginning be held: its rows are others, however long. */
const isSame = (left: PrefixHeader, right: PrefixHeader): boolean =>
  left.stateBytes === right.stateBytes &&
  left.tokens.length === right.tokens.length &&
  left.tokens.every((token, place) => token === right.tokens[place]);
