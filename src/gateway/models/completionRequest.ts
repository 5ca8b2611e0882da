import { z } from 'zod';
import { baseError, type JsonValue } from '../../base/index.js';
import type { SamplingOptions } from '../../platform/index.js';
import { checkBody } from '../checkBody.js';
import { gatewayError } from '../errors.js';
import { listOf } from '../listOf.js';
import type { CompletionLimits } from './CompletionLimits.js';
import { checkCount } from './checkCount.js';
import { checkFields } from './checkFields.js';
import { routeFields } from './routeFields.js';
import { samplingFields } from './samplingFields.js';

const schema = z.looseObject({
  ...samplingFields.fields,
  ...routeFields.fields,
  model: z.string().min(1).max(256),
  prompt: z.union([z.string(), listOf(z.string(), { min: 1 })], { error: 'must be a text or several texts' }),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  n: z.int().min(1).nullish(),
  best_of: z.int().min(1).nullish(),
  echo: z.boolean().nullish(),
  logprobs: z.int().min(0).max(20).nullish(),
  max_tokens: z.int().min(1).nullish(),
});

const known = new Set(Object.keys(schema.shape));

export interface CompletionRequest {
  readonly model: string;
  readonly prompts: readonly string[];
  readonly domain: string | undefined;
  readonly domainFallback: 'hash' | 'fail' | undefined;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  /** Answers to each prompt. */
  readonly choices: number;
  /** The prompt comes before its answer. */
  readonly echo: boolean;
  readonly sampling: SamplingOptions;
}

/** Checks the body of a text completion. Errors: PARAMETER_BAD with `param`, NOT_SUPPORTED. */
export function completionRequest(body: JsonValue, limits: CompletionLimits): CompletionRequest {
  const given = checkBody(schema, body);
  checkFields(given, known);
  checkPairs(given);
  const prompts = typeof given.prompt === 'string' ? [given.prompt] : given.prompt;
  const tokensMax = given.max_tokens ?? limits.textTokensDefault;
  checkCount('prompt', prompts.length, { limits, option: 'promptsMax' });
  checkCount('n', given.n ?? 1, { limits, option: 'choicesMax' });
  checkCount('n', prompts.length * (given.n ?? 1), { limits, option: 'answersMax' });
  checkCount('max_tokens', tokensMax, { limits, option: 'answerTokensMax' });
  const sampling = samplingFields.toSampling(given, tokensMax);
  return {
    model: given.model,
    prompts,
    domain: given.domain ?? undefined,
    domainFallback: given.domain_fallback ?? undefined,
    stream: given.stream ?? false,
    includeUsage: given.stream_options?.include_usage ?? false,
    choices: given.n ?? 1,
    echo: given.echo ?? false,
    sampling: typeof given.logprobs === 'number' ? { ...sampling, logprobsTop: given.logprobs } : sampling,
  };
}

const checkPairs = (given: z.infer<typeof schema>): void => {
  if (given.stream_options && !given.stream)
    throw gatewayError('PARAMETER_BAD', 'stream_options needs stream: true', { data: { param: 'stream_options' } });
  if (given.echo && typeof given.logprobs === 'number')
    throw baseError('NOT_SUPPORTED', 'log-probabilities of the prompt itself are not computed (R22): echo without logprobs', {
      data: { param: 'echo' },
    });
  if ((given.best_of ?? 1) > (given.n ?? 1))
    throw baseError('NOT_SUPPORTED', 'best_of above n is not supported (R22)', { data: { param: 'best_of' } });
};
