import type { ChatMessage, SamplingOptions, ToolUse } from '../../../platform/index.js';

/** What every surface for chat asks, however it is written there. */
export interface ChatAsk {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  readonly tools: ToolUse | undefined;
  /** The answer is read as it comes. */
  readonly stream: boolean;
  readonly domain: string | undefined;
  readonly domainFallback: 'hash' | 'fail' | undefined;
  /** Answers to one question. */
  readonly choices: number;
  readonly sampling: SamplingOptions;
}
