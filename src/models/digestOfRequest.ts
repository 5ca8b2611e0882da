import { sha256Hex } from '../base/index.js';
import type { EmbedRequest, GenerateRequest } from '../platform/index.js';

/** Of what a request computes: not of who asks, when, or how urgently. */
export function digestOfRequest(request: GenerateRequest | EmbedRequest): string {
  if ('texts' in request) return sha256Hex(JSON.stringify([request.model, request.texts]));
  const { model, messages, prompt, adapterDigest, sampling } = request;
  return sha256Hex(JSON.stringify([model, messages, prompt ?? null, adapterDigest ?? null, sampling]));
}
