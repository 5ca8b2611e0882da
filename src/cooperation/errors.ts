import { defineErrors } from '../base/index.js';

/** Errors of inference over the cluster; numbers 8000–8999 are ours. */
export const cooperationErrors = {
  NO_SHARD_AVAILABLE: {
    httpStatus: 503,
    errorNum: 8203,
    retryable: true,
    meaning:
      'No living shard serves the model, their engines are all starting (the message tells how far), or all that could answer have failed.',
    action: 'Retry after what Retry-After says; look at `ostraka status`.',
  },
  DOMAIN_UNAVAILABLE: {
    httpStatus: 503,
    errorNum: 8203,
    retryable: true,
    meaning: 'No shard qualifies for the domain and the request forbids a fallback.',
    action: 'Load an adapter for the domain, or allow the fallback.',
  },
  SHARD_UNKNOWN: {
    httpStatus: 404,
    errorNum: 8105,
    retryable: false,
    meaning: 'A statement names a shard that is no member of the cluster.',
    action: 'See `ostraka status` for the shards.',
  },
  ADAPTER_DOMAIN_TAKEN: {
    httpStatus: 409,
    errorNum: 8105,
    retryable: false,
    meaning: 'The shard serves another adapter, or the same one with another scale, under this domain.',
    action: 'Unload the domain first, or choose another name.',
  },
  ADAPTER_AMBIGUOUS: {
    httpStatus: 400,
    errorNum: 8105,
    retryable: false,
    meaning: 'A digest, or the beginning of one, stands for several adapters, scales or domains; `choices` lists them.',
    action: 'Name the domain, or more of the digest, or the scale as in `digest@0.5`.',
  },
  ADAPTERS_FULL: {
    httpStatus: 409,
    errorNum: 8105,
    retryable: false,
    meaning: 'The shard serves as many adapters as it may.',
    action: 'Unload one, load it on another shard, or raise `cooperation.adaptersMax`.',
  },
  ADAPTERS_BUSY: {
    httpStatus: 429,
    errorNum: 8105,
    retryable: true,
    meaning: 'As many loads and unloads of adapters as the shard queues are waiting for their turn.',
    action: 'Retry in a few seconds.',
  },
  STREAM_INTERRUPTED: {
    httpStatus: 503,
    errorNum: 8201,
    retryable: true,
    meaning: 'The shard was lost after it had sent part of the answer; the rest is not made up by another.',
    action: 'Ask again.',
  },
  NO_PROGRESS: {
    httpStatus: 504,
    errorNum: 8202,
    retryable: true,
    meaning: 'A shard took a request but gave no sign of work for too long.',
    action: 'Retry; look at the load of the shard.',
  },
} as const;

export const cooperationError = defineErrors(cooperationErrors);
