import { z } from 'zod';
import { prefixStoreBytesDefault } from '../platform/index.js';
import { grammarOptions } from './grammar/options.js';

/** Options of the scheduler. Rule R bounds the piece sizes; within them they change speed only, never a token. */
export const inferenceOptions = z.strictObject({
  selfCheck: z
    .boolean()
    .default(true)
    .describe(
      'tries at the start whether this machine gives the same bits alone and in load; where not, no prefix is shared and a log line says so',
    ),
  batchTokensMax: z
    .int()
    .min(128)
    .multipleOf(64)
    .default(8192)
    .describe('rows of the largest call (paper: max_tokens_per_batch); the model may allow fewer'),
  concurrentRequestsMax: z
    .int()
    .min(1)
    .default(128)
    .describe('requests that share the sequences in turns (paper: max_concurrent_requests); further ones wait to begin'),
  serviceInterTokenMs: z
    .int()
    .min(1)
    .default(400)
    .describe('service level: longest wait between two tokens of an answer while the prompt of another is computed, ms'),
  serviceAimShare: z
    .number()
    .min(0.1)
    .max(1)
    .default(0.75)
    .describe('share of that wait which the scheduler aims at: what it knows of steps are means, and the level is for nearly all of them'),
  serviceWholeAnswerMs: z
    .int()
    .min(1)
    .default(4000)
    .describe(
      'service level: longest standstill of answers that nobody reads before they are whole, for the sake of the prompts of others, ms',
    ),
  serviceFirstTokenMs: z.int().min(1).default(1000).describe('service level: time to the first token of a short prompt, ms'),
  serviceFirstTokenMsPer256Tokens: z
    .int()
    .min(1)
    .default(1000)
    .describe('service level: added to it for each 256 tokens of the prompt, ms'),
  stepCostWeight: z.number().gt(0).max(1).default(0.1).describe('weight of the newest step in the moving means of what steps cost'),
  stepCostGrowthMax: z
    .number()
    .min(1.5)
    .default(3)
    .describe('a step counts in those means as at most so many times the mean: a process that stood still says nothing of steps'),
  stepCostFreshSteps: z
    .int()
    .min(16)
    .default(1024)
    .describe('decode steps after which the cost of a number of drafted tokens that was not tried again counts as unknown'),
  deadlineEstimateShare: z
    .number()
    .min(0)
    .max(1)
    .default(0.75)
    .describe('a request is refused when this share of its estimated time is longer than its deadline; 0 = never'),
  fairDecodeRows: z.int().min(1).default(4).describe('rows of a prompt that one row of an answer counts as, when owners share the model'),
  fairOwnersMax: z.int().min(1).default(1024).describe('owners of requests whose share is remembered'),
  pieceRowsUnderLoad: z
    .int()
    .min(64)
    .max(256)
    .multipleOf(64)
    .default(64)
    .describe('rows of the smallest prefill piece while others decode'),
  pieceRowsUnderLoadMax: z
    .int()
    .min(64)
    .max(1024)
    .multipleOf(64)
    .default(256)
    .describe('rows of the largest prefill piece while others decode; chosen by the service level from measured costs'),
  decodeStepsBetweenPiecesMin: z.int().min(1).max(7).default(2).describe('fewest decode steps between two pieces'),
  decodeStepsBetweenPiecesMax: z
    .int()
    .min(1)
    .max(7)
    .default(4)
    .describe('most decode steps between two pieces; chosen by the service level from measured costs'),
  adapterTurnStepsMax: z
    .int()
    .min(8)
    .max(64)
    .default(8)
    .describe('steps one adapter group runs while another waits; a switch costs about 20 ms'),
  sequenceTurnMs: z
    .int()
    .min(100)
    .default(15_000)
    .describe('a request gives up its sequence after so long when another has waited so long, ms; it goes on later where it stopped'),
  sequenceTurnTokensMin: z.int().min(1).default(16).describe('tokens a request draws at least before it gives up its sequence to an equal'),
  kvStoreBytesMax: z
    .int()
    .min(0)
    .default(prefixStoreBytesDefault)
    .describe('host memory for prompt prefixes that others may share and for suspended requests, bytes'),
  kvCellPagesMax: z
    .int()
    .min(8)
    .default(1_048_576)
    .describe('pages of 16 tokens that running requests may hold together; the context bounds them in any case'),
  kvHeadroomPages: z.int().min(0).default(0).describe('free pages below which the youngest request of the lowest priority is suspended'),
  prefixImportsMax: z.int().min(1).default(4).describe('prefixes of other shards that may arrive at the same time'),
  prefixesAnnouncedMax: z
    .int()
    .min(0)
    .max(256)
    .default(96)
    .describe('beginnings of prompts, in steps of 64 tokens, that other shards are told of; 0 = none'),
  prefixTokensMin: z.int().min(64).default(64).describe('tokens of a shared prefix below which it is computed again'),
  answerRowsReused: z
    .boolean()
    .default(false)
    .describe(
      'a next turn of a conversation takes over the rows of the answer before it: sooner, but they come out of other calls than rows of a prompt, so that its text is no longer promised to be that of a cold run',
    ),
  draftTokensMax: z
    .int()
    .min(0)
    .max(15)
    .default(7)
    .describe(
      'tokens of an answer that are drafted from what was said before and verified in one step, the text staying the same; 0 = none',
    ),
  draftGainMin: z
    .number()
    .min(1)
    .default(1.05)
    .describe('estimated gain of a step with a draft over one without below which none is tried'),
  draftShareFirst: z.number().min(0).max(1).default(0.9).describe('share of right drafted tokens that is assumed of a new answer'),
  draftShareWeight: z.number().gt(0).max(1).default(0.25).describe('weight of the newest drafted token in that share'),
  draftRetryWeight: z
    .number()
    .gt(0)
    .max(1)
    .default(0.01)
    .describe('with each token without a draft the share returns to the assumed one by this weight'),
  draftLossShareMax: z
    .number()
    .min(0)
    .max(0.5)
    .default(0.03)
    .describe('share of the time of decode steps that drafts which turn out wrong may cost; while they have cost more, none is tried'),
  draftCreditMsMax: z
    .int()
    .min(0)
    .default(500)
    .describe('drafts that gained may lose as much again before that share counts, at most so many ms'),
  queueAgeingMs: z.int().min(1).default(2000).describe('waiting time that counts as one level of priority, ms'),
  progressIntervalMs: z.int().min(100).default(1000).describe('a request without text reports progress this often, ms'),
  queueSamples: z.int().min(1).max(1024).default(32).describe('admissions over which the mean queue time is taken'),
  embedRequestsMax: z.int().min(1).default(256).describe('embedding requests waiting beyond this are refused'),
  embedPatientShare: z
    .number()
    .min(0.01)
    .max(1)
    .default(0.25)
    .describe('share of the engine’s time that the embedding of stored rows may take while other requests wait'),
  embedTimeShare: z
    .number()
    .min(0.05)
    .max(1)
    .default(0.5)
    .describe('share of the time that passes of embeddings take while chats run; 1 = a pass after each step of theirs'),
  embedCharactersMax: z
    .int()
    .min(1024)
    .default(100_000)
    .describe('characters of one text to embed; a longer one is refused before it is tokenised'),
  constraints: grammarOptions.prefault({}),
  embedTextsMax: z.int().min(1).default(4096).describe('texts of one embedding request'),
});

export type InferenceOptions = z.infer<typeof inferenceOptions>;
