import { defineErrors } from '../base/index.js';

/** Errors of inference on one shard, beside those that the ports promise. */
export const inferenceErrors = {
  CHAT_REFUSED: {
    httpStatus: 400,
    errorNum: 8102,
    retryable: false,
    meaning:
      "The model's chat template refuses these messages, for example because roles do not alternate, or goes beyond its bounds with them.",
    action:
      'Change the order or the roles of the messages as the text of the error says; of a template that is beyond its bounds, use another model file, or plain prompts.',
  },
  CONSTRAINT_INVALID: {
    httpStatus: 400,
    errorNum: 8106,
    retryable: false,
    meaning:
      'The constraint of a request is malformed or nothing satisfies it; the message names the line and column, or the place in the schema.',
    action: 'Correct the grammar, pattern or schema at the place that the message names.',
  },
  CONSTRAINT_NOT_SUPPORTED: {
    httpStatus: 400,
    errorNum: 8107,
    retryable: false,
    meaning: 'The constraint uses a part of its language that Ostraka does not enforce; it is refused rather than ignored.',
    action: 'Leave the named part out or express it otherwise; docs/reference/constraints.md names what is enforced.',
  },
  CONSTRAINT_TOO_LARGE: {
    httpStatus: 400,
    errorNum: 8108,
    retryable: false,
    meaning: 'The constraint goes beyond a bound on its size, its nesting or its ambiguity; the message names the option.',
    action: 'Make the constraint smaller or less ambiguous, lower its repetition counts, or raise the option.',
  },
} as const;

export const inferenceError = defineErrors(inferenceErrors);
