import { z } from 'zod';
import { grammarOptions } from './grammar/options.js';

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
  sequenceTurnMs: z
    .int()
    .min(100)
    .default(5000)
    .describe('a request gives up its sequence after so long when another has waited so long, ms; it goes on later where it stopped'),
  sequenceTurnTokensMin: z.int().min(1).default(16).describe('tokens a request draws at least before it gives up its sequence to an equal'),
  kvStoreBytesMax: z
    .int()
    .min(0)
    .default(268_435_456)
    .describe('host memory for prompt prefixes that others may share and for suspended requests, bytes'),
  kvCellPagesMax: z
    .int()
    .min(8)
    .default(1_048_576)
    .describe('pages of 16 tokens that running requests may hold together; the context bounds them in any case'),
  kvHeadroomPages: z.int().min(0).default(0).describe('free pages below which the youngest request of the lowest priority is suspended'),
  prefixTokensMin: z.int().min(64).default(64).describe('tokens of a shared prefix below which it is computed again'),
  queueAgeingMs: z.int().min(1).default(2000).describe('waiting time that counts as one level of priority, ms'),
  progressIntervalMs: z.int().min(100).default(1000).describe('a request without text reports progress this often, ms'),
  queueSamples: z.int().min(1).max(1024).default(32).describe('admissions over which the mean queue time is taken'),
  embedRequestsMax: z.int().min(1).default(256).describe('embedding requests waiting beyond this are refused'),
  embedCharactersMax: z
    .int()
    .min(1024)
    .default(100_000)
    .describe('characters of one text to embed; a longer one is refused before it is tokenised'),
  constraints: grammarOptions.prefault({}),
  embedTextsMax: z.int().min(1).default(4096).describe('texts of one embedding request'),
});

export type InferenceOptions = z.infer<typeof inferenceOptions>;
