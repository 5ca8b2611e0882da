import { defineErrors } from '../base/index.js';

/** Errors of the catalog and of placement; numbers are ArangoDB's. */
export const shardingErrors = {
  DATABASE_NOT_FOUND: {
    httpStatus: 404,
    errorNum: 1228,
    retryable: false,
    meaning: 'No database of this name.',
    action: 'See GET /_api/database for the names.',
  },
  CATALOG_BUSY: {
    httpStatus: 503,
    errorNum: 1200,
    retryable: true,
    meaning: 'Others create databases and collections at the same time, and the catalog changed under each try.',
    action: 'Try again.',
  },
  DATABASE_NAME_INVALID: {
    httpStatus: 400,
    errorNum: 1229,
    retryable: false,
    meaning: 'A database name is empty, too long or has characters it cannot have.',
    action: 'Start with a letter; then letters, digits, _ and -, at most 64.',
  },
  DATABASE_PROTECTED: {
    httpStatus: 403,
    errorNum: 1230,
    retryable: false,
    meaning: 'The database _system cannot be dropped.',
    action: 'Drop its collections instead.',
  },
  COLLECTION_NOT_FOUND: {
    httpStatus: 404,
    errorNum: 1203,
    retryable: false,
    meaning: 'No collection of this name in the database.',
    action: 'Check the name, or create the collection first.',
  },
  COLLECTION_NAME_INVALID: {
    httpStatus: 400,
    errorNum: 1208,
    retryable: false,
    meaning: 'A collection name is empty, too long or has characters it cannot have.',
    action: 'Start with a letter; then letters, digits, _ and -, at most 256.',
  },
  NAME_EXISTS: {
    httpStatus: 409,
    errorNum: 1207,
    retryable: false,
    meaning: 'A database or collection of this name exists already.',
    action: 'Choose another name.',
  },
  WRONG_EPOCH: {
    httpStatus: 503,
    errorNum: 0,
    retryable: true,
    meaning: 'A request was planned under another version of the ring than the shard has.',
    action: 'Nothing: it is planned again under the new version.',
  },
} as const;

export const shardingError = defineErrors(shardingErrors);
