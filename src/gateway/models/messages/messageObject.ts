import type { JsonValue } from '../../../base/index.js';
import type { RoutingReport } from '../../../cooperation/index.js';
import type { TokenUsage, ToolCall } from '../../../platform/index.js';
import type { ChatAnswer } from '../chat/ChatAnswer.js';
import { openAiFields } from '../openAiFields.js';

type Ending = Pick<ChatAnswer, 'finishReason' | 'stopText'>;

/** Parts of Anthropic's messages, streamed or whole. */
export const messageObject = {
  whole: (frame: { readonly id: string; readonly model: string }, answer: ChatAnswer): object => ({
    ...messageObject.head(frame, answer.routing),
    content: [
      ...(answer.text !== '' || answer.calls.length === 0 ? [{ type: 'text', text: answer.text }] : []),
      ...answer.calls.map((call) => ({ type: 'tool_use', id: call.id, name: call.name, input: inputOf(call) })),
    ],
    ...messageObject.ending(answer),
    usage: messageObject.usage(answer.usage),
  }),

  head: (frame: { readonly id: string; readonly model: string }, routing: RoutingReport | undefined): object => ({
    id: frame.id,
    type: 'message',
    role: 'assistant',
    model: frame.model,
    ...(routing && { ostraka: openAiFields.routing(routing) }),
  }),

  ending: ({ finishReason, stopText }: Ending): object => ({
    stop_reason: stopReason(finishReason, stopText),
    stop_sequence: stopText ?? null,
  }),

  /** Tokens of the prompt that were cached are not among the input tokens. */
  usage: ({ promptTokens, completionTokens, cachedTokens }: TokenUsage): object => ({
    input_tokens: promptTokens - cachedTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cachedTokens,
    output_tokens: completionTokens,
  }),
} as const;

const stopReason = (finishReason: Ending['finishReason'], stopText: string | undefined): string => {
  if (finishReason === 'tool_calls') return 'tool_use';
  if (finishReason === 'length') return 'max_tokens';
  return stopText === undefined ? 'end_turn' : 'stop_sequence';
};

/** An object in any case: of a call that was cut (`max_tokens`) nothing is known to be whole. */
const inputOf = ({ arguments: json }: ToolCall): JsonValue => {
  try {
    return JSON.parse(json) as JsonValue;
  } catch {
    return {};
  }
};
