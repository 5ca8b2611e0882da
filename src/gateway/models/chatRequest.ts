import { z } from 'zod';
import { baseError, type JsonValue } from '../../base/index.js';
import type { SamplingOptions } from '../../platform/index.js';
import { checkBody } from '../checkBody.js';
import { gatewayError } from '../errors.js';

const textPart = z.strictObject({ type: z.literal('text'), text: z.string() });
const content = z.union([z.string(), z.array(textPart).transform((parts) => parts.map(({ text }) => text).join(''))]);

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
  repetition_penalty: z.number().gt(0).max(10).nullish(),
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
  ['presence_penalty', [0]],
  ['frequency_penalty', [0]],
  ['logit_bias', []],
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
 * Checks the body of a chat completion. Ranges are OpenAI's; `top_k` and `repetition_penalty` are ours. Errors: PARAMETER_BAD with
 * `param` (also for unknown fields), NOT_SUPPORTED for OpenAI's fields that this version does not have.
 */
export function chatRequest(body: JsonValue): ChatRequest {
  const given = checkBody(schema, body);
  for (const [field, value] of Object.entries(given)) checkField(field, value);
  if (given.stream_options && !given.stream)
    throw gatewayError('PARAMETER_BAD', 'stream_options needs stream: true', { data: { param: 'stream_options' } });
  return {
    model: given.model,
    messages: given.messages.map(({ role, content }) => ({ role: role === 'developer' ? 'system' : role, content })),
    domain: given.domain ?? undefined,
    stream: given.stream ?? false,
    includeUsage: given.stream_options?.include_usage ?? false,
    sampling: {
      tokensMax: given.max_completion_tokens ?? given.max_tokens ?? tokensDefault,
      temperature: given.temperature ?? 1,
      topP: given.top_p ?? 1,
      topK: given.top_k ?? 0,
      repetitionPenalty: given.repetition_penalty ?? 1,
      stop: given.stop,
      ...(given.seed === null || given.seed === undefined ? {} : { seed: given.seed }),
    },
  };
}

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
