import type { JsonValue } from '../../base/index.js';
import { type PrefixPart, platformError } from '../../platform/index.js';
import { prefixEnvelope } from '../../protocol/index.js';

/** Parts of a prefix from the frames of `kv_prefix/export`: the header alone first, then its pieces. Errors: KV_PREFIX_DAMAGED. */
export async function* readEnvelope(frames: AsyncIterable<JsonValue | Uint8Array>): AsyncGenerator<PrefixPart, void, void> {
  let header: PrefixPart['header'] | undefined;
  for await (const frame of frames) {
    const bytes = frame instanceof Uint8Array ? frame : damaged('a frame that is no bytes');
    if (header === undefined) {
      header = prefixEnvelope.decodeHeader(bytes) ?? damaged('a header that is cut or changed');
      yield { header, offset: 0, bytes: new Uint8Array(0) };
    } else yield { header, ...(prefixEnvelope.decodePiece(bytes) ?? damaged('a piece that is cut or changed')) };
  }
}

function damaged(what: string): never {
  throw platformError('KV_PREFIX_DAMAGED', `a shard sent ${what}`);
}
