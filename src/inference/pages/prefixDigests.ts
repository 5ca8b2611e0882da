import { xxh64 } from '../../base/index.js';
import { prefixUnitTokens } from '../../platform/index.js';

/**
 * Digests of the first 64 tokens, the first 128 and so on, 16 hex digits each (R27, E4): each goes over the one before and the exact ids,
 * the first over the scope, so that equal beginnings under another model, adapter or build never look alike.
 */
export function prefixDigests(scope: string, tokens: Int32Array): readonly string[] {
  const digests: string[] = [];
  let digest = xxh64(scope);
  for (let end = prefixUnitTokens; end <= tokens.length; end += prefixUnitTokens) {
    digest = xxh64(bytesOf(tokens.subarray(end - prefixUnitTokens, end)), digest);
    digests.push(digest.toString(16).padStart(16, '0'));
  }
  return digests;
}

const bytesOf = ({ buffer, byteOffset, byteLength }: Int32Array): Uint8Array => new Uint8Array(buffer, byteOffset, byteLength);
