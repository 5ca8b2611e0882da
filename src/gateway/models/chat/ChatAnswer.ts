import type { RoutingReport } from '../../../cooperation/index.js';
import type { AnswerLogprob, ToolCall } from '../../../platform/index.js';
import type { ChatEvent } from './ChatEvent.js';

type Finished = Extract<ChatEvent, { readonly kind: 'finished' }>;

/** A chat answer read to its end. */
export interface ChatAnswer extends Pick<Finished, 'finishReason' | 'stopText' | 'usage' | 'timing'> {
  readonly text: string;
  /** The arguments of the last are a part of JSON where the answer was cut within them. */
  readonly calls: readonly ToolCall[];
  /** Empty unless the request asked for them. */
  readonly logprobs: readonly AnswerLogprob[];
  readonly routing: RoutingReport;
}
