import type { EmbedRequest, GenerateRequest, RerankRequest } from '../platform/index.js';
import { digestOfRequest } from './digestOfRequest.js';

/** The digest of a request, computed when it is first asked for: only a crash and what follows it need one, and a prompt may be long. */
export function lazyDigest(request: GenerateRequest | EmbedRequest | RerankRequest): () => string {
  let digest: string | undefined;
  return () => {
    digest ??= digestOfRequest(request);
    return digest;
  };
}
