import { z } from 'zod';
import { baseError, type JsonValue } from '../../base/index.js';
import { plainSampling, type SamplingOptions } from '../../platform/index.js';
import { checkBody } from '../checkBody.js';
import { gatewayError } from '../errors.js';

const textPart = z.strictObject({ type: z.literal('text'), text: z.string() });
const content = z.union([z.string(), z.array(textPart).transform((parts) => parts.map(({ text }) => text).join(''))]);

/** Token ids as keys, as in OpenAI's interface. */
const logitBias = z
  .record(z.string().regex(/^\d{1,9}$/), z.number().min(-100).max(100))
  .refine((biases) => Object.keys(biases).length <= 1_024, 'at most 1024 tokens')
  .transform((biases) => Object.entries(biases).map(([token, bias]) => ({ token: Number(token), bias })));

const schema = z.looseObject({
  model: z.string().min(1).max(256),
  messages: z
    .array(z.looseObject({ role: z.enum(['system', 'developer', 'user', 'assistant']), content }))
    .min(1)
    .max(1_024),
  domain: z.string().min(1).max(128).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().optional() }).nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().gt(0).max(1).nullish(),
  top_k: z.int().min(0).nullish(),
  min_p: z.number().min(0).max(1).nullish(),
  typical_p: z.number().gt(0).max(1).nullish(),
  repetition_penalty: z.number().gt(0).max(10).nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  frequency_penalty: z.number().min(-2).max(2).nullish(),
  logit_bias: logitBias.nullish(),
  stop_token_ids: z.array(z.int().min(0)).max(64).nullish(),
  min_tokens: z.int().min(0).nullish(),
  ignore_eos: z.boolean().nullish(),
  seed: z.int().nullish(),
  stop: z
    .union([z.string().min(1).max(256), z.array(z.string().min(1).max(256)).max(16)])
    .nullish()
    .transform((stop) => (stop === null || stop === undefined ? [] : typeof stop === 'string' ? [stop] : stop)),
  max_tokens: z.int().min(1).nullish(),
  max_completion_tokens: z.int().min(1).nullish(),
});

const known = new Set(Object.keys(schema.shape));
/** Fields that clients send and that change nothing here. */
const harmless = new Set([
  'user',
  'metadata',
  'store',
  'service_tier',
  'safety_identifier',
  'prompt_cache_key',
  'prompt_cache_retention',
  'verbosity',
  'reasoning_effort',
  'parallel_tool_calls',
]);
/** Fields whose neutral value asks for nothing; another value is a part we do not have (R22). */
const neutral = new Map<string, readonly unknown[]>([
  ['n', [1]],
  ['logprobs', [false]],
  ['top_logprobs', [0]],
  ['tools', []],
  ['tool_choice', ['none', 'auto']],
  ['functions', []],
  ['function_call', ['none', 'auto']],
  ['response_format', []],
  ['modalities', []],
  ['audio', []],
  ['prediction', []],
  ['web_search_options', []],
]);

export interface ChatRequest {
  readonly model: string;
  readonly messages: readonly { readonly role: 'system' | 'user' | 'assistant'; readonly content: string }[];
  readonly domain: string | undefined;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  readonly sampling: SamplingOptions;
}

const tokensDefault = 256;

/**
 * Checks the body of a chat completion. Ranges are OpenAI's; `top_k`, `min_p`, `typical_p`, `repetition_penalty`, `stop_token_ids`,
 * `min_tokens` and `ignore_eos` are named as other servers name them. Errors: PARAMETER_BAD with
 * `param` (also for unknown fields), NOT_SUPPORTED for OpenAI's fields that this version does not have.
 */
export function chatRequest(body: JsonValue): ChatRequest {
  const given = checkBody(schema, body);
  for (const [field, value] of Object.entries(given)) checkField(field, value);
  if (given.stream_options && !given.stream)
    throw gatewayError('PARAMETER_BAD', 'stream_options needs stream: true', { data: { param: 'stream_options' } });
  checkTokens(given);
  return {
    model: given.model,
    messages: given.messages.map(({ role, content }) => ({ role: role === 'developer' ? 'system' : role, content })),
    domain: given.domain ?? undefined,
    stream: given.stream ?? false,
    includeUsage: given.stream_options?.include_usage ?? false,
    sampling: {
      ...plainSampling,
      tokensMax: given.max_completion_tokens ?? given.max_tokens ?? tokensDefault,
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
      ...(given.seed === null || given.seed === undefined ? {} : { seed: given.seed }),
    },
  };
}

const checkTokens = ({ min_tokens: tokensMin, max_tokens, max_completion_tokens }: z.infer<typeof schema>): void => {
  const tokensMax = max_completion_tokens ?? max_tokens ?? tokensDefault;
  if ((tokensMin ?? 0) <= tokensMax) return;
  throw gatewayError('PARAMETER_BAD', `min_tokens is ${tokensMin}, more than max_tokens ${tokensMax}`, { data: { param: 'min_tokens' } });
};

const checkField = (field: string, value: unknown): void => {
  if (known.has(field) || harmless.has(field) || value === null || value === undefined) return;
  const allowed = neutral.get(field);
  if (!allowed) throw gatewayError('PARAMETER_BAD', `unknown field ${field}`, { data: { param: field } });
  if (allowed.includes(value) || isEmpty(value)) return;
  throw baseError('NOT_SUPPORTED', `${field} is not supported yet (R22); see docs/paper-map.md`, { data: { param: field } });
};

const isEmpty = (value: unknown): boolean =>
  (Array.isArray(value) && value.length === 0) ||
  (typeof value === 'object' &&
    value !== null &&
    (Object.keys(value).length === 0 || (value as { readonly type?: unknown }).type === 'text'));
