import type { ToolCall } from '../../../platform/index.js';
import { openAiFields } from '../openAiFields.js';
import type { ChatAnswer } from './ChatAnswer.js';
import type { ChatAsk } from './ChatAsk.js';

/** What all objects of one chat completion begin with. */
export interface ChatFrame {
  readonly id: string;
  readonly created: number;
  readonly model: string;
}

/** The answer to a chat completion, whole. `ostraka` and `stop_reason`, the stop string that ended it, are not OpenAI's. */
export function chatCompletion(frame: ChatFrame, ask: ChatAsk, answers: readonly ChatAnswer[]): object {
  const [first] = answers as readonly [ChatAnswer];
  const choices = answers.map((answer, index) => ({
    index,
    message: messageOf(answer),
    logprobs: openAiFields.chatLogprobs(ask.sampling.logprobsTop === undefined ? undefined : answer.logprobs),
    finish_reason: answer.finishReason,
    stop_reason: answer.stopText ?? null,
  }));
  const usage = openAiFields.usageOf(
    answers.map(({ usage }) => usage),
    ask.choices,
  );
  const ostraka = { ...openAiFields.routing(first.routing), timing: openAiFields.timing(first.timing) };
  return { ...frame, object: 'chat.completion', choices, usage: openAiFields.usage(usage), ostraka };
}

const messageOf = ({ text, calls }: ChatAnswer): object => ({
  role: 'assistant',
  content: text === '' && calls.length > 0 ? null : text,
  refusal: null,
  ...(calls.length > 0 && { tool_calls: calls.map(callOf) }),
});

const callOf = ({ id, name, arguments: json }: ToolCall): object => ({ id, type: 'function', function: { name, arguments: json } });
