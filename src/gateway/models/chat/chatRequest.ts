import { z } from 'zod';
import type { JsonValue } from '../../base/index.js';
import type { SamplingOptions } from '../../platform/index.js';
import { checkBody } from '../checkBody.js';
import { gatewayError } from '../errors.js';
import { checkFields } from './checkFields.js';
import { routeFields } from './routeFields.js';
import { samplingFields } from './samplingFields.js';

const textPart = z.strictObject({ type: z.literal('text'), text: z.string() });
const content = z.union([z.string(), z.array(textPart).transform((parts) => parts.map(({ text }) => text).join(''))]);

const schema = z.looseObject({
  ...samplingFields.fields,
  ...routeFields.fields,
  model: z.string().min(1).max(256),
  messages: z
    .array(z.looseObject({ role: z.enum(['system', 'developer', 'user', 'assistant']), content }))
    .min(1)
    .max(1_024),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().optional() }).nullish(),
  n: z.int().min(1).max(16).nullish(),
  logprobs: z.boolean().nullish(),
  top_logprobs: z.int().min(0).max(20).nullish(),
  max_tokens: z.int().min(1).nullish(),
  max_completion_tokens: z.int().min(1).nullish(),
});

const known = new Set(Object.keys(schema.shape));

export interface ChatRequest {
  readonly model: string;
  readonly messages: readonly { readonly role: 'system' | 'user' | 'assistant'; readonly content: string }[];
  readonly domain: string | undefined;
  readonly domainFallback: 'hash' | 'fail' | undefined;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  /** Answers to one question. */
  readonly choices: number;
  readonly sampling: SamplingOptions;
}

const tokensDefault = 256;

/**
 * Checks the body of a chat completion. Errors: PARAMETER_BAD with `param` (also for unknown fields), NOT_SUPPORTED for OpenAI's fields
 * that this version does not have.
 */
export function chatRequest(body: JsonValue): ChatRequest {
  const given = checkBody(schema, body);
  checkFields(given, known);
  checkPairs(given);
  const sampling = samplingFields.toSampling(given, given.max_completion_tokens ?? given.max_tokens ?? tokensDefault);
  return {
    model: given.model,
    messages: given.messages.map(({ role, content }) => ({ role: role === 'developer' ? 'system' : role, content })),
    domain: given.domain ?? undefined,
    domainFallback: given.domain_fallback ?? undefined,
    stream: given.stream ?? false,
    includeUsage: given.stream_options?.include_usage ?? false,
    choices: given.n ?? 1,
    sampling: given.logprobs ? { ...sampling, logprobsTop: given.top_logprobs ?? 0 } : sampling,
  };
}

/** Fields that mean nothing without another one. */
const checkPairs = (given: z.infer<typeof schema>): void => {
  if (given.stream_options && !given.stream)
    throw gatewayError('PARAMETER_BAD', 'stream_options needs stream: true', { data: { param: 'stream_options' } });
  if (given.top_logprobs && !given.logprobs)
    throw gatewayError('PARAMETER_BAD', 'top_logprobs needs logprobs: true', { data: { param: 'top_logprobs' } });
};
