import { defineErrors } from './defineErrors.js';

/** Errors that every module may meet. */
export const baseErrors = {
  INTERNAL: {
    httpStatus: 500,
    errorNum: 4,
    retryable: false,
    meaning: 'An assertion of the program failed, or an error without a code reached a border.',
    action: 'Report it with the log of the shard; the request failed, stored data is untouched.',
  },
  CANCELLED: {
    httpStatus: 499,
    errorNum: 1500,
    retryable: false,
    meaning: 'The caller cancelled the request or went away.',
    action: 'Nothing: this is what the caller asked for.',
  },
  DEADLINE_EXCEEDED: {
    httpStatus: 504,
    errorNum: 18,
    retryable: true,
    meaning: 'The request did not finish within its deadline.',
    action: 'Retry with a longer deadline, or look at the load of the shards in `ostraka status`.',
  },
  QUEUE_FULL: {
    httpStatus: 429,
    errorNum: 21002,
    retryable: true,
    meaning: 'A bounded queue is full.',
    action: 'Retry after the time in the Retry-After header; add shards if it lasts.',
  },
  NOT_SUPPORTED: {
    httpStatus: 501,
    errorNum: 9,
    retryable: false,
    meaning: 'A documented part of Ostraka that this version does not have; the message names the requirement.',
    action: 'See docs/paper-map.md for the state of each requirement.',
  },
} as const;

export const baseError = defineErrors(baseErrors);
