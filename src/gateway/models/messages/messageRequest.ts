import { z } from 'zod';
import { baseError, type JsonValue } from '../../../base/index.js';
import type { Constraint, ToolDefinition } from '../../../platform/index.js';
import { checkBody } from '../../checkBody.js';
import { gatewayError } from '../../errors.js';
import { listOf } from '../../listOf.js';
import type { CompletionLimits } from '../CompletionLimits.js';
import type { ChatAsk } from '../chat/ChatAsk.js';
import { checkCount } from '../checkCount.js';
import { checkToolResults } from '../checkToolResults.js';
import { functionTools } from '../functionTools.js';
import { routeFields } from '../routeFields.js';
import { samplingFields } from '../samplingFields.js';
import { toolName } from '../toolName.js';
import { type ToolChoice, toToolUse } from '../toToolUse.js';
import { messageTurns } from './messageTurns.js';

const { temperature, top_p, top_k, seed } = samplingFields.fields;
const parallel = { disable_parallel_tool_use: z.boolean().nullish() };

const counted = {
  model: z.string().min(1).max(256),
  messages: messageTurns.schema,
  system: messageTurns.system.nullish(),
  tools: listOf(
    z.looseObject({
      type: z.literal('custom').nullish(),
      name: toolName,
      description: z.string().nullish(),
      input_schema: functionTools.schema,
      strict: z.boolean().nullish(),
    }),
  ).nullish(),
  tool_choice: z
    .discriminatedUnion('type', [
      z.strictObject({ type: z.literal('auto'), ...parallel }),
      z.strictObject({ type: z.literal('any'), ...parallel }),
      z.strictObject({ type: z.literal('none') }),
      z.strictObject({ type: z.literal('tool'), name: z.string(), ...parallel }),
    ])
    .nullish(),
  thinking: z.looseObject({ type: z.string() }).nullish(),
  output_config: z
    .looseObject({ format: z.strictObject({ type: z.literal('json_schema'), schema: functionTools.schema }).nullish() })
    .nullish(),
};

const countSchema = z.looseObject({ ...routeFields.fields, ...counted });
const schema = z.looseObject({
  ...routeFields.fields,
  ...counted,
  temperature,
  top_p,
  top_k,
  seed,
  max_tokens: z.int().min(1),
  stop_sequences: z.array(z.string().min(1).max(256)).max(16).nullish(),
  stream: z.boolean().nullish(),
});

type Counted = z.infer<typeof countSchema>;

const known = new Set(Object.keys(schema.shape));
/** Fields that clients send and that change nothing here. */
const harmless = new Set(['metadata', 'service_tier', 'cache_control', 'inference_geo']);

export type MessageRequest = ChatAsk;

/** Checks the body of Anthropic's messages. Errors: PARAMETER_BAD with `param`, NOT_SUPPORTED. */
export function messageRequest(body: JsonValue, limits: CompletionLimits): MessageRequest {
  const given = checkBody(schema, body);
  checkCount('max_tokens', given.max_tokens, { limits, option: 'answerTokensMax' });
  const ask = toAsk(given, limits);
  const { temperature, top_p, top_k, seed } = given; // no others were checked: an unknown field may be anything
  const sampling = samplingFields.toSampling({ temperature, top_p, top_k, seed, stop: given.stop_sequences ?? [] }, given.max_tokens);
  const constraint = toConstraint(given);
  return { ...ask, sampling: { ...sampling, ...(constraint && { constraint }) }, stream: given.stream ?? false };
}

/** Checks a body of which only the tokens are to be counted. */
export function messageCountRequest(body: JsonValue, limits: CompletionLimits): ChatAsk {
  const given = checkBody(countSchema, body);
  return { ...toAsk(given, limits), sampling: samplingFields.toSampling({ stop: [] }, 1), stream: false };
}

const toAsk = (given: Counted, limits: CompletionLimits): Omit<ChatAsk, 'sampling' | 'stream'> => {
  checkKnown(given);
  const messages = messageTurns.toMessages(given.messages, given.system ?? undefined);
  checkCount('messages', messages.length, { limits, option: 'messagesMax' });
  checkToolResults(messages, 'messages');
  if (messages.at(-1)?.role === 'assistant')
    throw gatewayError('PARAMETER_BAD', 'messages: the last one is the assistant’s: an answer is not continued', {
      data: { param: 'messages' },
    });
  const choice = given.tool_choice;
  const isParallel = !(choice && 'disable_parallel_tool_use' in choice && choice.disable_parallel_tool_use);
  return {
    model: given.model,
    messages,
    tools: toToolUse(toTools(given.tools), toChoice(choice), { isParallel, limits }),
    domain: given.domain ?? undefined,
    domainFallback: given.domain_fallback ?? undefined,
    choices: 1,
  };
};

const checkKnown = (given: Counted): void => {
  for (const [param, value] of Object.entries(given)) {
    if (known.has(param) || harmless.has(param) || value === null || value === undefined) continue;
    throw gatewayError('PARAMETER_BAD', `unknown field ${param}`, { data: { param } });
  }
  if (given.thinking && given.thinking.type !== 'disabled')
    throw baseError('NOT_SUPPORTED', 'thinking is not supported for messages (R22)', { data: { param: 'thinking' } });
};

const toConstraint = ({ output_config: config }: Counted): Constraint | undefined =>
  config?.format ? { kind: 'jsonSchema', schema: config.format.schema } : undefined;

const toTools = (tools: Counted['tools']): readonly ToolDefinition[] =>
  (tools ?? []).map(({ name, description, input_schema, strict }) => ({
    name,
    ...(typeof description === 'string' && { description }),
    parameters: input_schema,
    strict: strict ?? false,
  }));

const toChoice = (choice: Counted['tool_choice']): ToolChoice => {
  if (choice?.type === 'tool') return { mode: 'required', names: [choice.name], isNamed: true };
  return { mode: choice?.type === 'any' ? 'required' : (choice?.type ?? 'auto') };
};
