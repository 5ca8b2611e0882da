import type { ClusterRequest } from '../../cooperation/index.js';

/** One request a choice: with a seed each draws from a stream of its own, and the first from the seed that was given. */
export function choiceRequests(request: ClusterRequest, choices: number): readonly ClusterRequest[] {
  if (choices === 1) return [request];
  const { seed } = request.sampling;
  return Array.from({ length: choices }, (_, index) => ({
    ...request,
    requestId: `${request.requestId}-${index}`,
    sampling:
      seed === undefined
        ? request.sampling
        : { ...request.sampling, seed: Number.MAX_SAFE_INTEGER - index < seed ? seed - index : seed + index },
  }));
}
