import type { GenerateRequest } from '../platform/index.js';
import type { ClusterRequest } from './ClusterRequest.js';

/** The request as the chosen shard's engine takes it. */
export function toGenerateRequest(request: ClusterRequest, adapterDigest: string | undefined): GenerateRequest {
  const { requestId, model, messages, prompt, sampling, priority, owner, streamed } = request;
  return {
    requestId,
    model,
    messages,
    sampling,
    priority,
    ...(prompt !== undefined && { prompt }),
    ...(owner !== undefined && { owner }),
    ...(streamed !== undefined && { streamed }),
    ...(adapterDigest !== undefined && { adapterDigest }),
  };
}
