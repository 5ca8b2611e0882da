import { defineErrors } from '../base/index.js';

/** Errors of transactions over several shards. */
export const transactionErrors = {
  TRANSACTION_OUTCOME_UNKNOWN: {
    httpStatus: 503,
    errorNum: 1653,
    retryable: false,
    meaning: 'A shard or the metadata store was lost while the transaction was being committed: it may have taken effect or not, wholly.',
    action: 'Ask for its outcome by the transaction id in the error, or read the documents; do not repeat blindly.',
  },
  TRANSACTION_ABORTED: {
    httpStatus: 409,
    errorNum: 1653,
    retryable: true,
    meaning: 'The transaction was aborted before it took effect.',
    action: 'Run it again.',
  },
  TRANSACTION_UNKNOWN: {
    httpStatus: 404,
    errorNum: 1655,
    retryable: false,
    meaning: 'No open transaction with this id on the shard.',
    action: 'It ended or was idle too long; run it again.',
  },
} as const;

export const transactionError = defineErrors(transactionErrors);
