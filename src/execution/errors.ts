import { defineErrors } from '../base/index.js';

/** Errors of running queries; 8000–8999 are ours, the others ArangoDB's. */
export const executionErrors = {
  QUERY_KILLED: {
    httpStatus: 410,
    errorNum: 1500,
    retryable: false,
    meaning: 'The query ran longer than its maxRuntime, or was killed.',
    action: 'Raise maxRuntime, or make the query read less.',
  },
  QUERY_MEMORY_LIMIT: {
    httpStatus: 500,
    errorNum: 32,
    retryable: false,
    meaning:
      'The query holds more bytes at a time than its memoryLimit: what sorting, grouping, writes and results buffer, rows that wait for models, and the values that expressions make.',
    action: 'Raise memoryLimit, read fewer rows, or return less of each.',
  },
  QUERIES_MEMORY_LIMIT: {
    httpStatus: 503,
    errorNum: 32,
    retryable: true,
    meaning: 'All queries of the shard together hold more bytes than `memoryTotalBytesMax`; the one that asked for more was ended.',
    action: 'Retry later or on another shard; run fewer large queries at a time.',
  },
  QUERY_UNKNOWN: {
    httpStatus: 404,
    errorNum: 1591,
    retryable: false,
    meaning: 'No running query has this id on the shard.',
    action: 'It has ended; see GET /_api/query/current of the shard that took it.',
  },
  QUERY_WARNING: {
    httpStatus: 400,
    errorNum: 1577,
    retryable: false,
    meaning: 'The query warned, and failOnWarning makes that an error.',
    action: 'Correct the expression, or leave failOnWarning off.',
  },
  INFER_OPTION_INVALID: {
    httpStatus: 400,
    errorNum: 8106,
    retryable: false,
    meaning: 'An option of INFER, EMBED or RERANK has a wrong type or range.',
    action: 'See the options in docs/reference/aql.md.',
  },
  ADAPTER_STATEMENT_INVALID: {
    httpStatus: 400,
    errorNum: 8106,
    retryable: false,
    meaning: 'A part or an option of LLM ADAPTER has a wrong type or range, or is not known.',
    action: 'See LLM ADAPTER in docs/reference/aql.md.',
  },
  INFER_SCHEMA_VIOLATED: {
    httpStatus: 400,
    errorNum: 8107,
    retryable: false,
    meaning: 'The answer to an INFER with SCHEMA is not whole: the model had no tokens left.',
    action: 'Raise OPTIONS {max_tokens}, or make the schema smaller.',
  },
  INFER_CALLS_EXCEEDED: {
    httpStatus: 400,
    errorNum: 8206,
    retryable: false,
    meaning: 'The query would ask a model more often than max_calls allows.',
    action: 'Filter first, or raise OPTIONS {max_calls}.',
  },
  RERANK_INPUT_INVALID: {
    httpStatus: 400,
    errorNum: 8101,
    retryable: false,
    meaning: 'RERANK takes an array without null, and with OPTIONS {key} objects that have the attribute.',
    action: 'Filter first, or name the attribute that holds the text.',
  },
  EMBED_STATEMENT_INVALID: {
    httpStatus: 400,
    errorNum: 8106,
    retryable: false,
    meaning:
      'An option of LLM EMBED … FOR has a wrong type or range or is not known, or the statement stands in a transaction of several queries, which it cannot be part of: it commits by itself, again and again.',
    action: 'See LLM EMBED … FOR in docs/reference/aql.md; send the statement without a transaction.',
  },
  EMBED_INPUT_INVALID: {
    httpStatus: 400,
    errorNum: 8101,
    retryable: false,
    meaning: 'EMBED takes a text, an array of texts, or null.',
    action: 'Convert the input with TO_STRING.',
  },
} as const;

export const executionError = defineErrors(executionErrors);
