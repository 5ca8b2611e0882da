import { z } from 'zod';

/** What decides the bytes of a trained adapter, besides model and data. */
export const trainingOptions = z.strictObject({
  rank: z.int().min(1).max(256).default(8).describe('columns of the low-rank matrices'),
  alpha: z.number().positive().max(4096).default(16).describe('the adapter is applied with alpha / rank'),
  steps: z.int().min(1).max(1_000_000).describe('updates of the adapter'),
  batch: z.int().min(1).max(1024).default(8).describe('examples of a step'),
  learningRate: z.number().positive().max(1).default(2e-3).describe('highest rate, reached after the warm-up; falls along a cosine'),
  warmupSteps: z.int().min(0).max(100_000).default(10).describe('steps over which the rate rises'),
  weightDecay: z.number().min(0).max(1).default(0).describe('share of each value taken off in a step, times the rate'),
  gradientNormMax: z.number().positive().default(1).describe('a longer gradient is shortened to this'),
  seed: z
    .int()
    .min(0)
    .max(2 ** 32 - 1)
    .default(1)
    .describe('start of the adapter and order of the examples'),
  contextTokens: z.int().min(16).max(8192).describe('an example with more tokens is refused'),
});

export type TrainingOptions = z.infer<typeof trainingOptions>;

/** What bounds a run and leaves its result as it is. */
export const trainerOptions = z.strictObject({
  examplesMax: z.int().min(1).default(200_000).describe('examples of a data file'),
  dataBytesMax: z.int().min(1).default(268_435_456).describe('largest data file, bytes'),
  passTokensMax: z
    .int()
    .min(16)
    .default(512)
    .describe('rows computed at once, padding included: a batch takes as many passes as it needs; one example may be longer'),
  checkpointIntervalMs: z
    .int()
    .min(0)
    .default(30_000)
    .describe('how often the state is stored, ms: at most so much is lost with a process'),
});

export type TrainerOptions = z.infer<typeof trainerOptions>;
