import { defineErrors } from '../base/index.js';

/** Errors of inference on one shard, beside those that the ports promise. */
export const inferenceErrors = {
  CHAT_REFUSED: {
    httpStatus: 400,
    errorNum: 8102,
    retryable: false,
    meaning: "The model's chat template refuses these messages, for example because roles do not alternate.",
    action: 'Change the order or the roles of the messages as the text of the error says.',
  },
} as const;

export const inferenceError = defineErrors(inferenceErrors);
