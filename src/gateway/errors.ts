import { defineErrors } from '../base/index.js';

/** Errors of the HTTP surface itself. */
export const gatewayErrors = {
  ROUTE_UNKNOWN: {
    httpStatus: 404,
    errorNum: 404,
    retryable: false,
    meaning: 'No such path.',
    action: 'See the HTTP reference for the paths.',
  },
  METHOD_NOT_ALLOWED: {
    httpStatus: 405,
    errorNum: 405,
    retryable: false,
    meaning: 'The path exists, but not with this method.',
    action: 'See the HTTP reference for its methods.',
  },
  BODY_NOT_JSON: {
    httpStatus: 400,
    errorNum: 600,
    retryable: false,
    meaning: 'The body is not valid JSON.',
    action: 'Send JSON in UTF-8.',
  },
  CONTENT_TYPE_WRONG: {
    httpStatus: 415,
    errorNum: 415,
    retryable: false,
    meaning: 'The body has a content type other than JSON.',
    action: 'Send application/json.',
  },
  NUMBER_OUT_OF_RANGE: {
    httpStatus: 400,
    errorNum: 1504,
    retryable: false,
    meaning: 'A whole number in the body lies beyond 2^53 and would be changed silently.',
    action: 'Send it as a string.',
  },
  BODY_TOO_LARGE: {
    httpStatus: 413,
    errorNum: 413,
    retryable: false,
    meaning: 'The body is over the limit.',
    action: 'Send less at once; the limit is `bodyBytesMax`.',
  },
  REQUEST_MALFORMED: {
    httpStatus: 400,
    errorNum: 400,
    retryable: false,
    meaning: 'The request is not valid HTTP, or a path or parameter has a form it cannot have.',
    action: 'Correct the request.',
  },
  PARAMETER_BAD: {
    httpStatus: 400,
    errorNum: 10,
    retryable: false,
    meaning: 'A parameter or body field has a wrong type or value; the message names it.',
    action: 'Correct the field.',
  },
  UNAUTHORIZED: {
    httpStatus: 401,
    errorNum: 11,
    retryable: false,
    meaning: 'The request carries no valid credentials.',
    action: 'Send the API key as a bearer token, or as the password of basic authentication.',
  },
  ORIGIN_REFUSED: {
    httpStatus: 403,
    errorNum: 11,
    retryable: false,
    meaning: 'A browser sent the request for a page of another origin, or by a host name, and no API key is configured.',
    action: 'Use a program or a page of the shard itself; to serve others, configure an API key.',
  },
  CURSOR_NOT_FOUND: {
    httpStatus: 404,
    errorNum: 1600,
    retryable: false,
    meaning: 'No cursor with this id here: it was read to its end, deleted, or its time ran out.',
    action: 'Run the query again; ask the shard that made the cursor.',
  },
  CURSOR_BUSY: {
    httpStatus: 409,
    errorNum: 1601,
    retryable: true,
    meaning: 'Another request reads this cursor now.',
    action: 'Read a cursor from one place at a time.',
  },
} as const;

export const gatewayError = defineErrors(gatewayErrors);
