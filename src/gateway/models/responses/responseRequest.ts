import { z } from 'zod';
import { baseError, type JsonValue } from '../../../base/index.js';
import type { Constraint, ToolDefinition } from '../../../platform/index.js';
import { checkBody } from '../../checkBody.js';
import { gatewayError } from '../../errors.js';
import { listOf } from '../../listOf.js';
import type { CompletionLimits } from '../CompletionLimits.js';
import type { ChatAsk } from '../chat/ChatAsk.js';
import { checkCount } from '../checkCount.js';
import { checkFields } from '../checkFields.js';
import { checkToolResults } from '../checkToolResults.js';
import { functionTools } from '../functionTools.js';
import { routeFields } from '../routeFields.js';
import { samplingFields } from '../samplingFields.js';
import { type ToolChoice, toToolUse } from '../toToolUse.js';
import { responseInput } from './responseInput.js';

const { temperature, top_p, top_k, min_p, seed, repetition_penalty } = samplingFields.fields;
const named = z.looseObject({ type: z.literal('function'), name: z.string() });
const allowed = z.looseObject({ type: z.literal('allowed_tools'), mode: functionTools.allowedMode, tools: listOf(named) });

const format = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text') }),
  z.strictObject({ type: z.literal('json_object') }),
  z.strictObject({
    type: z.literal('json_schema'),
    name: z.string().max(64).nullish(),
    description: z.string().nullish(),
    schema: functionTools.schema,
    strict: z.boolean().nullish(),
  }),
]);

const schema = z.looseObject({
  ...routeFields.fields,
  temperature,
  top_p,
  top_k,
  min_p,
  seed,
  repetition_penalty,
  model: z.string().min(1).max(256),
  input: responseInput.schema,
  instructions: z.string().nullish(),
  stream: z.boolean().nullish(),
  max_output_tokens: z.int().min(1).nullish(),
  tools: listOf(z.strictObject({ type: z.literal('function'), ...functionTools.fields })).nullish(),
  tool_choice: z.union([functionTools.mode, named, allowed]).nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  text: z.looseObject({ format: format.nullish() }).nullish(),
  truncation: z.enum(['disabled', 'auto']).nullish(),
  metadata: functionTools.schema.nullish(),
  store: z.boolean().nullish(),
  previous_response_id: z.string().nullish(),
  conversation: z.unknown().optional(),
  background: z.boolean().nullish(),
  include: listOf(z.string()).nullish(),
  reasoning: z.unknown().optional(),
  stream_options: z.unknown().optional(),
  top_logprobs: z.int().nullish(),
});

type Given = z.infer<typeof schema>;

const known = new Set(Object.keys(schema.shape));

/** What of a request is said again in its response. */
export type ResponseEcho = Pick<
  Given,
  'instructions' | 'max_output_tokens' | 'temperature' | 'top_p' | 'tools' | 'tool_choice' | 'parallel_tool_calls' | 'text' | 'metadata'
>;

export interface ResponseRequest extends ChatAsk {
  readonly echo: ResponseEcho;
}

/** Checks the body of a response. Errors: PARAMETER_BAD with `param`, RESPONSES_NOT_KEPT, NOT_SUPPORTED. */
export function responseRequest(body: JsonValue, limits: CompletionLimits): ResponseRequest {
  checkReferences(body);
  const given = checkBody(schema, body);
  checkFields(given, known);
  checkKept(given);
  checkAsked(given);
  const tokensMax = given.max_output_tokens ?? limits.chatTokensDefault;
  checkCount('max_output_tokens', tokensMax, { limits, option: 'answerTokensMax' });
  const messages = responseInput.toMessages(given.input, given.instructions ?? undefined);
  checkCount('input', messages.length, { limits, option: 'messagesMax' });
  checkToolResults(messages, 'input');
  const constraint = toConstraint(given.text?.format);
  const isParallel = given.parallel_tool_calls ?? true;
  return {
    model: given.model,
    messages,
    tools: toToolUse(toTools(given.tools), toChoice(given.tool_choice), { isParallel, limits }),
    domain: given.domain ?? undefined,
    domainFallback: given.domain_fallback ?? undefined,
    choices: 1,
    sampling: { ...samplingFields.toSampling({ ...given, stop: [] }, tokensMax), ...(constraint && { constraint }) },
    stream: given.stream ?? false,
    echo: given,
  };
}

/** A shard keeps no responses: each request brings its whole conversation. */
const checkKept = (given: Given): void => {
  for (const param of ['previous_response_id', 'conversation', 'store'] as const) {
    const value = given[param];
    if (value === undefined || value === null || value === false) continue;
    throw gatewayError('RESPONSES_NOT_KEPT', `${param}: a shard keeps no responses; send the whole conversation as input`, {
      data: { param },
    });
  }
};

const checkReferences = (body: JsonValue): void => {
  const { input } = (body ?? {}) as { readonly input?: JsonValue };
  const isReference = (item: JsonValue): boolean => (item as { readonly type?: JsonValue } | null)?.type === 'item_reference';
  if (!Array.isArray(input) || !input.some(isReference)) return;
  throw gatewayError('RESPONSES_NOT_KEPT', 'input: a shard keeps no items; send them whole', { data: { param: 'input' } });
};

const checkAsked = (given: Given): void => {
  const asked = {
    background: given.background === true,
    truncation: given.truncation === 'auto',
    top_logprobs: (given.top_logprobs ?? 0) > 0,
  };
  const unknown = (given.include ?? []).find((name) => name !== 'reasoning.encrypted_content');
  for (const [param, isAsked] of Object.entries({ ...asked, include: unknown !== undefined })) {
    if (isAsked) throw baseError('NOT_SUPPORTED', `${param} is not supported for responses (R22)`, { data: { param } });
  }
};

const toConstraint = (given: z.infer<typeof format> | null | undefined): Constraint | undefined => {
  if (!given || given.type === 'text') return undefined;
  return { kind: 'jsonSchema', schema: given.type === 'json_object' ? { type: 'object' } : given.schema };
};

/** Here a tool is strict unless it says otherwise. */
const toTools = (tools: Given['tools']): readonly ToolDefinition[] => (tools ?? []).map((tool) => functionTools.toTool(tool, true));

const toChoice = (choice: Given['tool_choice']): ToolChoice => {
  if (typeof choice !== 'object' || choice === null) return functionTools.toChoice(choice);
  if (choice.type === 'function') return functionTools.toChoice({ name: (choice as z.infer<typeof named>).name });
  const { mode, tools } = choice as z.infer<typeof allowed>;
  return functionTools.toChoice({ mode, names: tools.map(({ name }) => name) });
};
