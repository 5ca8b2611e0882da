import { defineErrors } from '../base/index.js';

/** Errors of the command line: each is one line on standard error and exit code 1. */
export const cliErrors = {
  USAGE: {
    httpStatus: 400,
    errorNum: 0,
    retryable: false,
    meaning: 'An option or argument cannot be used as given.',
    action: 'See --help of the command.',
  },
  CONFIG_INVALID: {
    httpStatus: 400,
    errorNum: 0,
    retryable: false,
    meaning: 'A configuration file is missing, not YAML, or has a field that is wrong.',
    action: 'Correct the field that the message names.',
  },
  BIND_NOT_ALLOWED: {
    httpStatus: 400,
    errorNum: 0,
    retryable: false,
    meaning: 'A server would listen off loopback without credentials.',
    action: 'Set process.apiKey, or listen on 127.0.0.1.',
  },
  SHARD_START_FAILED: {
    httpStatus: 500,
    errorNum: 0,
    retryable: false,
    meaning: 'A shard process ended or reported an error before it was ready.',
    action: 'Read the log that the message names; `ostraka doctor` looks at the machine.',
  },
  SERVER_UNREACHABLE: {
    httpStatus: 503,
    errorNum: 0,
    retryable: true,
    meaning: 'No Ostraka shard answers at the URL.',
    action: 'Start one with `ostraka up`, or give --url.',
  },
  ANSWER_BROKEN: {
    httpStatus: 502,
    errorNum: 0,
    retryable: true,
    meaning: 'A streamed answer ended with an error, or the connection before the answer.',
    action: 'Ask again; what was shown of the answer may be incomplete.',
  },
} as const;

export const cliError = defineErrors(cliErrors);
