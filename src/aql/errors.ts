import { defineErrors } from '../base/index.js';

const row = (errorNum: number, meaning: string, action: string, httpStatus = 400) =>
  ({ httpStatus, errorNum, retryable: false, meaning, action }) as const;

/** Errors of the language. Each carries line and column in `data` where the text has a place for it. */
export const aqlErrors = {
  AQL_PARSE: row(
    1501,
    'The text is not AQL; the message has line, column, the text at that place and what was expected.',
    'Correct the query at that place.',
  ),
  AQL_STATEMENT_MISPLACED: row(
    1501,
    'A statement such as LLM ADAPTER LIST stands inside another query.',
    'Send the statement as a query of its own.',
  ),
  AQL_EMPTY: row(1502, 'The query is empty or only a comment.', 'Send a query.'),
  AQL_TOO_LONG: row(
    1501,
    'The query text is longer than 1 MiB.',
    'Pass data as bind parameters instead of writing it into the query text.',
  ),
  AQL_NESTING_TOO_DEEP: row(
    1524,
    'The query is nested deeper than 500 levels or has more than 1,000 plan nodes, or a value is nested deeper than 200 levels.',
    'Split the query, or put long lists into a bind parameter.',
  ),
  AQL_VARIABLE_REDECLARED: row(1511, 'A variable of this name is already in scope.', 'Choose another name.'),
  AQL_VARIABLE_UNKNOWN: row(1512, 'No variable of this name is in scope.', 'Declare it with LET or FOR, or correct the name.'),
  AQL_FUNCTION_UNKNOWN: row(1540, 'No function has this name.', 'Correct the name; docs/reference/aql.md lists the functions.'),
  AQL_ARGUMENT_COUNT: row(1541, 'A function was called with too few or too many arguments.', 'See the function in docs/reference/aql.md.'),
  AQL_ARGUMENT_TYPE: row(
    1542,
    'A function was called with an argument of a wrong type.',
    'Convert the argument with TO_STRING, TO_NUMBER….',
  ),
  AQL_REGEX_INVALID: row(
    1543,
    'A regular expression does not compile (RE2 syntax).',
    'Correct the expression; back-references do not exist.',
  ),
  AQL_BIND_MISSING: row(1551, 'The query names a bind parameter that was not given.', 'Pass it in bindVars.'),
  AQL_BIND_UNDECLARED: row(1552, 'A bind parameter was given that the query does not name.', 'Remove it from bindVars.'),
  AQL_BIND_TYPE: row(
    1553,
    'A bind parameter has a type that its place does not take.',
    'A collection and a model name are strings, an attribute is a string or an array of strings.',
  ),
  AQL_NUMBER_OUT_OF_RANGE: row(
    1504,
    'A number or a range is too large.',
    'Use a smaller range: an array holds at most 10,000,000 numbers.',
  ),
  AQL_VALUE_TOO_LARGE: row(
    32,
    'A function would make a value that is larger than the process can hold.',
    'Make smaller values: cut texts, limit repetitions.',
  ),
  AQL_AGGREGATE_INVALID: row(
    1574,
    'AGGREGATE calls something that is not an aggregate function.',
    'Use COUNT, LENGTH, SUM, MIN, MAX, AVG, UNIQUE, SORTED_UNIQUE, COUNT_DISTINCT or PUSH.',
  ),
  AQL_OPTION_INVALID: row(
    1575,
    'A name or value inside OPTIONS is not one this operation takes.',
    'See the operation in docs/reference/aql.md.',
  ),
  AQL_MODEL_OPTION_INVALID: row(
    8106,
    'An option of INFER, EMBED or RERANK has a wrong type or range.',
    'See the options of INFER in docs/reference/aql.md.',
  ),
  AQL_ACCESS_AFTER_WRITE: row(
    1579,
    'A collection is read or written again after the query wrote it.',
    'Read before the write, or make two queries.',
  ),
} as const;

export const aqlError = defineErrors(aqlErrors);
