import { sha256Hex } from '../base/index.js';
import { adapterKey, type EmbedRequest, type GenerateRequest, type RerankRequest } from '../platform/index.js';

/** Of what a request computes: not of who asks, when, or how urgently. */
export function digestOfRequest(request: GenerateRequest | EmbedRequest | RerankRequest): string {
  if ('texts' in request) return sha256Hex(JSON.stringify([request.model, request.texts, request.tokens ?? null]));
  if ('documents' in request) return sha256Hex(JSON.stringify([request.model, request.query, request.documents, request.method]));
  const { model, messages, prompt, adapter, sampling } = request;
  return sha256Hex(JSON.stringify([model, messages, prompt ?? null, adapter && adapterKey(adapter), sampling]));
}
