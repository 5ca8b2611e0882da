import { defineErrors } from '../base/index.js';

/** Errors of documents and transactions; numbers are ArangoDB's. */
export const storageErrors = {
  DOCUMENT_NOT_FOUND: {
    httpStatus: 404,
    errorNum: 1202,
    retryable: false,
    meaning: 'No document with this key in the collection.',
    action: 'Check the key; it may have been removed meanwhile.',
  },
  DOCUMENT_KEY_BAD: {
    httpStatus: 400,
    errorNum: 1221,
    retryable: false,
    meaning: 'A document key has characters or a length that keys cannot have.',
    action: "Use 1…254 of the characters A–Z a–z 0–9 _ - : . @ ( ) + , = ; $ ! * ' %.",
  },
  DOCUMENT_TYPE_INVALID: {
    httpStatus: 400,
    errorNum: 1227,
    retryable: false,
    meaning: 'A document must be a JSON object.',
    action: 'Send an object.',
  },
  DOCUMENT_TOO_LARGE: {
    httpStatus: 413,
    errorNum: 1216,
    retryable: false,
    meaning: 'A document is larger than the limit.',
    action: 'Split it; the limit is `documentBytesMax`.',
  },
  EDGE_ATTRIBUTE_INVALID: {
    httpStatus: 400,
    errorNum: 1233,
    retryable: false,
    meaning: 'A document of an edge collection needs `_from` and `_to` of the form collection/key.',
    action: 'Add both attributes.',
  },
  UNIQUE_CONSTRAINT_VIOLATED: {
    httpStatus: 409,
    errorNum: 1210,
    retryable: false,
    meaning: 'A document with this key exists already.',
    action: 'Choose another key, or set overwriteMode.',
  },
  REVISION_MISMATCH: {
    httpStatus: 412,
    errorNum: 1200,
    retryable: false,
    meaning: 'The document has another revision than the one given.',
    action: 'Read it again and decide anew.',
  },
  WRITE_CONFLICT: {
    httpStatus: 409,
    errorNum: 1200,
    retryable: true,
    meaning: 'Another transaction changed what this one read or wrote; nothing of it was stored.',
    action: 'Run the transaction again.',
  },
  SNAPSHOT_TOO_OLD: {
    httpStatus: 409,
    errorNum: 1200,
    retryable: true,
    meaning: 'The transaction lived longer than the versions it reads are kept.',
    action: 'Run it again; make it shorter or raise `snapshotAgeMsMax`.',
  },
  TRANSACTION_IN_DOUBT: {
    httpStatus: 503,
    errorNum: 1457,
    retryable: true,
    meaning: 'A document is part of a prepared transaction whose outcome is not known yet.',
    action: 'Retry; the outcome is resolved within seconds once its coordinator or the metadata store answers.',
  },
  CLOCK_AHEAD: {
    httpStatus: 503,
    errorNum: 1457,
    retryable: true,
    meaning: 'The clocks of two shards, or the wall clock of one and its data, are further apart than `clockAheadMsMax`; nothing was done.',
    action: 'Set the clocks of the machines right (NTP); the shard goes on by itself then.',
  },
  STORE_MISSING: {
    httpStatus: 500,
    errorNum: 1000,
    retryable: false,
    meaning:
      'The shard had documents, and its data folder is empty or not mounted: it does not start, since it would answer as if they had never been.',
    action:
      'Mount or restore the data folder. To give its documents up start once with `--accept-empty-store` (`process.acceptEmptyStore` in a configuration).',
  },
  STORE_FOREIGN: {
    httpStatus: 500,
    errorNum: 1000,
    retryable: false,
    meaning: 'The data folder holds the store of another shard, or an older one of this shard.',
    action: 'Give each shard its own data folder; see STORE_MISSING to give documents up.',
  },
  TRANSACTION_LIMIT: {
    httpStatus: 429,
    errorNum: 21002,
    retryable: true,
    meaning: 'Too many transactions are open, or one holds too many reads or writes.',
    action: 'Retry later, or write in smaller portions.',
  },
} as const;

export const storageError = defineErrors(storageErrors);
