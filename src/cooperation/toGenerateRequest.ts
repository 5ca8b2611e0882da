import type { AdapterIdentity, GenerateRequest } from '../platform/index.js';
import type { ClusterRequest } from './ClusterRequest.js';

/** The request as the chosen shard's engine takes it. */
export function toGenerateRequest(request: ClusterRequest, adapter: AdapterIdentity | undefined): GenerateRequest {
  const { requestId, model, messages, prompt, tools, sampling, priority, owner, streamed } = request;
  return {
    requestId,
    model,
    messages,
    sampling,
    priority,
    ...(prompt !== undefined && { prompt }),
    ...(tools && { tools }),
    ...(owner !== undefined && { owner }),
    ...(streamed !== undefined && { streamed }),
    ...(adapter && { adapter }),
  };
}
