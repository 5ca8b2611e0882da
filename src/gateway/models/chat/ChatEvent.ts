import type { RoutingReport } from '../../../cooperation/index.js';
import type { AnswerLogprob, GenerateTiming, TokenUsage } from '../../../platform/index.js';

type Told =
  /** Who answers; again, after `opened`, when another shard takes over before any text. */
  | { readonly kind: 'routed'; readonly routing: RoutingReport }
  | { readonly kind: 'opened'; readonly promptTokens: number }
  /** Text of the answer itself; the text of calls is none of it. */
  | { readonly kind: 'text'; readonly text: string; readonly logprobs?: readonly AnswerLogprob[] }
  | { readonly kind: 'call'; readonly call: number; readonly id: string; readonly name: string }
  /** A part of the JSON of a call's arguments. */
  | { readonly kind: 'arguments'; readonly call: number; readonly text: string }
  /** The arguments of a call are whole. */
  | { readonly kind: 'callEnded'; readonly call: number }
  | {
      readonly kind: 'finished';
      readonly finishReason: 'stop' | 'length' | 'tool_calls';
      readonly stopText?: string;
      readonly usage: TokenUsage;
      readonly timing: GenerateTiming;
    };

/**
 * What the surfaces for chat (chat completions, responses, messages) translate: each answer is `routed`, `opened`, any number of `text` and
 * calls, one after another, and `finished`. `index` is the answer's, `call` counts the calls of one answer.
 */
export type ChatEvent = { readonly index: number } & Told;
