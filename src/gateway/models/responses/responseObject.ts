import type { RoutingReport } from '../../../cooperation/index.js';
import type { TokenUsage } from '../../../platform/index.js';
import { openAiFields } from '../openAiFields.js';
import type { ResponseRequest } from './responseRequest.js';

export interface ResponseFrame {
  readonly id: string;
  readonly created: number;
}

/** A response as far as it is known: `usage` is there once it has ended. */
export function responseObject(
  frame: ResponseFrame,
  { model, echo }: ResponseRequest,
  state: {
    readonly output: readonly object[];
    readonly finishReason?: 'stop' | 'length' | 'tool_calls';
    readonly usage?: TokenUsage;
    readonly routing?: RoutingReport | undefined;
  },
): object {
  const isCut = state.finishReason === 'length';
  return {
    id: frame.id,
    object: 'response',
    created_at: frame.created,
    status: state.finishReason === undefined ? 'in_progress' : isCut ? 'incomplete' : 'completed',
    background: false,
    error: null,
    incomplete_details: isCut ? { reason: 'max_output_tokens' } : null,
    instructions: echo.instructions ?? null,
    max_output_tokens: echo.max_output_tokens ?? null,
    model,
    output: state.output,
    parallel_tool_calls: echo.parallel_tool_calls ?? true,
    previous_response_id: null,
    reasoning: { effort: null, summary: null },
    store: false,
    temperature: echo.temperature ?? 1,
    text: { format: echo.text?.format ?? { type: 'text' } },
    tool_choice: echo.tool_choice ?? 'auto',
    tools: echo.tools ?? [],
    top_p: echo.top_p ?? 1,
    truncation: 'disabled',
    usage: state.usage === undefined ? null : usageOf(state.usage),
    user: null,
    metadata: echo.metadata ?? {},
    ...(state.routing && { ostraka: openAiFields.routing(state.routing) }),
  };
}

const usageOf = ({ promptTokens, completionTokens, cachedTokens }: TokenUsage): object => ({
  input_tokens: promptTokens,
  input_tokens_details: { cached_tokens: cachedTokens },
  output_tokens: completionTokens,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: promptTokens + completionTokens,
});
