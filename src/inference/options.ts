import { z } from 'zod';

/** Options of the scheduler. Rule R bounds the piece sizes; within them they change speed only, never a token. */
export const inferenceOptions = z.strictObject({
  pieceRowsUnderLoad: z.int().min(64).max(256).multipleOf(64).default(64).describe('rows of a prefill piece while others decode'),
  decodeStepsBetweenPiecesMin: z
    .int()
    .min(1)
    .max(7)
    .default(2)
    .describe('decode steps between two pieces when more prompts wait than decode'),
  decodeStepsBetweenPiecesMax: z.int().min(1).max(7).default(4).describe('decode steps between two pieces otherwise'),
  adapterTurnStepsMax: z
    .int()
    .min(8)
    .max(64)
    .default(8)
    .describe('steps one adapter group runs while another waits; a switch costs about 20 ms'),
  queueAgeingMs: z.int().min(1).default(2000).describe('waiting time that counts as one level of priority, ms'),
  progressIntervalMs: z.int().min(100).default(1000).describe('a request without text reports progress this often, ms'),
  queueSamples: z.int().min(1).max(1024).default(32).describe('admissions over which the mean queue time is taken'),
  embedRequestsMax: z.int().min(1).default(256).describe('embedding requests waiting beyond this are refused'),
  embedTextsMax: z.int().min(1).default(4096).describe('texts of one embedding request'),
});

export type InferenceOptions = z.infer<typeof inferenceOptions>;
