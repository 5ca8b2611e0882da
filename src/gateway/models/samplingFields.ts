import { z } from 'zod';
import { plainSampling, type SamplingOptions } from '../../platform/index.js';
import { gatewayError } from '../errors.js';
import { constraintFields } from './constraintFields.js';

/** Token ids as keys, as in OpenAI's interface. */
const logitBias = z
  .custom<{ readonly [token: string]: number }>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    'Invalid input: expected object',
  )
  // Before each of them is looked at: a body of 33 MB names millions.
  .refine((biases) => Object.keys(biases).length <= 1_024, { error: 'at most 1024 tokens', abort: true })
  .pipe(z.record(z.string().regex(/^\d{1,9}$/), z.number().min(-100).max(100)))
  .transform((biases) => Object.entries(biases).map(([token, bias]) => ({ token: Number(token), bias })));

const stop = z
  .union([z.string().min(1).max(256), z.array(z.string().min(1).max(256)).max(16)])
  .nullish()
  .transform((given) => (given === null || given === undefined ? [] : typeof given === 'string' ? [given] : given));

/**
 * Fields of sampling in chat and text completions. Ranges are OpenAI's; `top_k`, `min_p`, `typical_p`, `repetition_penalty`,
 * `stop_token_ids`, `min_tokens` and `ignore_eos` are named as other servers name them.
 */
const fields = {
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().gt(0).max(1).nullish(),
  top_k: z.int().min(0).nullish(),
  min_p: z.number().min(0).max(1).nullish(),
  typical_p: z.number().gt(0).max(1).nullish(),
  // Beyond these a logit leaves the range of its number format.
  repetition_penalty: z.number().min(0.01).max(100).nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  frequency_penalty: z.number().min(-2).max(2).nullish(),
  logit_bias: logitBias.nullish(),
  stop_token_ids: z.array(z.int().min(0)).max(64).nullish(),
  min_tokens: z.int().min(0).nullish(),
  ignore_eos: z.boolean().nullish(),
  seed: z.int().nullish(),
  stop,
  ...constraintFields.fields,
};

type Given = z.infer<z.ZodObject<typeof fields>>;

const toSampling = (given: Given, tokensMax: number): SamplingOptions => {
  if ((given.min_tokens ?? 0) > tokensMax)
    throw gatewayError('PARAMETER_BAD', `min_tokens is ${given.min_tokens}, more than the ${tokensMax} tokens asked for`, {
      data: { param: 'min_tokens' },
    });
  const constraint = constraintFields.toConstraint(given);
  return {
    ...plainSampling,
    tokensMax,
    temperature: given.temperature ?? 1,
    topP: given.top_p ?? 1,
    topK: given.top_k ?? 0,
    minP: given.min_p ?? 0,
    typicalP: given.typical_p ?? 1,
    repetitionPenalty: given.repetition_penalty ?? 1,
    presencePenalty: given.presence_penalty ?? 0,
    frequencyPenalty: given.frequency_penalty ?? 0,
    logitBias: given.logit_bias ?? [],
    stopTokens: given.stop_token_ids ?? [],
    tokensMin: given.min_tokens ?? 0,
    ignoreEnd: given.ignore_eos ?? false,
    stop: given.stop,
    ...(given.seed !== null && given.seed !== undefined && { seed: given.seed }),
    ...(constraint && { constraint }),
  };
};

/** The fields as a zod shape, and what they mean to an engine. Errors: PARAMETER_BAD. */
export const samplingFields = { fields, toSampling } as const;
