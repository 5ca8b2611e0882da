import { z } from 'zod';
import type { JsonValue } from '../../../base/index.js';
import { checkBody } from '../../checkBody.js';
import { gatewayError } from '../../errors.js';
import { listOf } from '../../listOf.js';
import type { CompletionLimits } from '../CompletionLimits.js';
import { checkCount } from '../checkCount.js';
import { checkFields } from '../checkFields.js';
import { checkToolForm } from '../checkToolForm.js';
import { checkToolResults } from '../checkToolResults.js';
import { routeFields } from '../routeFields.js';
import { samplingFields } from '../samplingFields.js';
import { toToolUse } from '../toToolUse.js';
import type { ChatAsk } from './ChatAsk.js';
import { chatMessage } from './chatMessage.js';
import { toolFields } from './toolFields.js';

const schema = z.looseObject({
  ...samplingFields.fields,
  ...routeFields.fields,
  ...toolFields.fields,
  model: z.string().min(1).max(256),
  messages: listOf(chatMessage, { min: 1 }),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  n: z.int().min(1).nullish(),
  logprobs: z.boolean().nullish(),
  top_logprobs: z.int().min(0).max(20).nullish(),
  max_tokens: z.int().min(1).nullish(),
  max_completion_tokens: z.int().min(1).nullish(),
});

const known = new Set(Object.keys(schema.shape));

export interface ChatRequest extends ChatAsk {
  readonly includeUsage: boolean;
}

/**
 * Checks the body of a chat completion. Errors: PARAMETER_BAD with `param` (also for unknown fields), NOT_SUPPORTED for OpenAI's fields
 * that this version does not have.
 */
export function chatRequest(body: JsonValue, limits: CompletionLimits): ChatRequest {
  const given = checkBody(schema, body);
  checkFields(given, known);
  checkPairs(given);
  const tokensMax = given.max_completion_tokens ?? given.max_tokens ?? limits.chatTokensDefault;
  checkCount('n', given.n ?? 1, { limits, option: 'choicesMax' });
  checkCount('messages', given.messages.length, { limits, option: 'messagesMax' });
  checkCount('max_tokens', tokensMax, { limits, option: 'answerTokensMax' });
  checkToolResults(given.messages, 'messages');
  const sampling = samplingFields.toSampling(given, tokensMax);
  const isParallel = given.parallel_tool_calls ?? true;
  const tools = toToolUse(toolFields.toTools(given.tools), toolFields.toChoice(given.tool_choice), { isParallel, limits });
  checkToolForm(tools, sampling);
  return {
    model: given.model,
    messages: given.messages,
    tools,
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
