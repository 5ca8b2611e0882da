import { defineErrors } from '../base/index.js';

/** Errors of calls between shards. */
export const rpcErrors = {
  SHARD_UNAVAILABLE: {
    httpStatus: 503,
    errorNum: 1461,
    retryable: true,
    meaning: 'A shard that owns part of the data, or that was asked, does not answer. No partial answer is given.',
    action: 'Look at `ostraka status`; the shard is restarted by itself under `ostraka up`. Retry.',
  },
  BREAKER_OPEN: {
    httpStatus: 503,
    errorNum: 1461,
    retryable: true,
    meaning: 'Calls to a shard failed so often that it is not asked for a while (paper §V).',
    action: 'Nothing: one probe after the recovery time closes the breaker. Retry later.',
  },
  MESSAGE_TOO_LARGE: {
    httpStatus: 413,
    errorNum: 32,
    retryable: false,
    meaning: 'A request or answer between shards is larger than `messageBytesMax`. A write that answers so took no effect in a query.',
    action: 'Send or return less at a time: fewer rows, smaller documents, NEW and OLD only where they are needed.',
  },
  METHOD_UNKNOWN: {
    httpStatus: 501,
    errorNum: 0,
    retryable: false,
    meaning: 'The peer does not know the method that was called.',
    action: 'Run one version of Ostraka on all shards.',
  },
  PROTOCOL_VIOLATION: {
    httpStatus: 502,
    errorNum: 0,
    retryable: false,
    meaning: 'A peer sent something that the protocol does not allow.',
    action: 'Run one version of Ostraka on all shards; report it if they are.',
  },
} as const;

export const rpcError = defineErrors(rpcErrors);
