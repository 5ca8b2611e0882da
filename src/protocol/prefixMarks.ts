import { fromBase64, toBase64 } from '../base/index.js';

/** What gossip carries of the digests of prefixes (R27): the low 32 bits of each, its mark, four bytes big-endian, in base64. */
export const prefixMarks = {
  of: (digest: string): number => Number.parseInt(digest.slice(-8), 16),

  encode(digests: readonly string[]): string {
    const view = new DataView(new ArrayBuffer(digests.length * 4));
    for (const [place, digest] of digests.entries()) view.setUint32(place * 4, prefixMarks.of(digest));
    return toBase64(new Uint8Array(view.buffer));
  },

  /** None for a text of another form. */
  decode(text: string): ReadonlySet<number> {
    const bytes = fromBase64(text) ?? new Uint8Array(0);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    return new Set(Array.from({ length: bytes.length >> 2 }, (_, place) => view.getUint32(place * 4)));
  },
};
