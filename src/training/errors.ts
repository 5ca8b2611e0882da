import { defineErrors } from '../base/index.js';

/** Errors of training and importing adapters. */
export const trainingErrors = {
  TRAINING_DATA_INVALID: {
    httpStatus: 400,
    errorNum: 0,
    retryable: false,
    meaning: 'A line of the training data is no JSON object {question, answer}, or is longer than the context; nothing is cut unasked.',
    action: 'Correct the line that the message names; --context takes longer ones, up to what the model was trained on.',
  },
  TRAINING_CHECKPOINT_FOUND: {
    httpStatus: 409,
    errorNum: 0,
    retryable: false,
    meaning: 'An unfinished run left its checkpoint beside the file that should be written.',
    action: 'Go on with --resume, or remove the checkpoint that the message names.',
  },
  TRAINING_CHECKPOINT_MISSING: {
    httpStatus: 404,
    errorNum: 0,
    retryable: false,
    meaning: 'There is no checkpoint to go on from.',
    action: 'Start without --resume.',
  },
  TRAINING_CHECKPOINT_INVALID: {
    httpStatus: 400,
    errorNum: 0,
    retryable: false,
    meaning: 'A checkpoint is damaged, or of another run: another model, other data or other settings.',
    action: 'Repeat the settings of that run, or remove the checkpoint that the message names and start anew.',
  },
  TRAINING_DIVERGED: {
    httpStatus: 500,
    errorNum: 0,
    retryable: false,
    meaning: 'The loss is no finite number any more.',
    action: 'Start anew with a lower --learning-rate.',
  },
  TRAINER_LOST: {
    httpStatus: 500,
    errorNum: 0,
    retryable: true,
    meaning: 'The trainer’s process ended by a fault, such as an assertion of the native library or too little memory.',
    action: 'Go on with --resume: the last checkpoint is whole. Smaller --batch and --context need less memory.',
  },
  ADAPTER_IMPORT_REFUSED: {
    httpStatus: 400,
    errorNum: 8105,
    retryable: false,
    meaning: 'A PEFT adapter uses something that has no place in a GGUF LoRA file, or does not fit the base model.',
    action: 'Train it as plain LoRA on the projections of attention and feed-forward, for the model named with --model.',
  },
} as const;

export const trainingError = defineErrors(trainingErrors);
