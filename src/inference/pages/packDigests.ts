import { toBase64 } from '../../base/index.js';

/** The low 32 bits of each digest, four bytes in base64: what gossip carries of them (R27). */
export function packDigests(digests: readonly string[]): string {
  const bytes = new Uint8Array(digests.length * 4);
  const view = new DataView(bytes.buffer);
  for (const [place, digest] of digests.entries()) view.setUint32(place * 4, Number.parseInt(digest.slice(-8), 16));
  return toBase64(bytes);
}
