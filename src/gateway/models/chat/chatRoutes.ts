import type { ClusterAnswer, ClusterRequest } from '../../cooperation/index.js';
import type { HttpResponse, TokenUsage } from '../../platform/index.js';
import type { Route, RouteContext } from '../Route.js';
import { responses } from '../responses.js';
import { ChoiceStream } from './ChoiceStream.js';
import type { CompletionParts } from './CompletionParts.js';
import { type ChatRequest, chatRequest } from './chatRequest.js';
import { choiceRequests } from './choiceRequests.js';
import { openAiFields } from './openAiFields.js';
import { routeFields } from './routeFields.js';
import { type StreamFormat, streamAnswer } from './streamAnswer.js';

interface Frame {
  readonly id: string;
  readonly created: number;
  readonly model: string;
}

/** POST /v1/chat/completions in OpenAI's shape, streamed or whole, routed by `domain` or the header x-ostraka-domain. */
export function chatRoutes(parts: CompletionParts): readonly Route[] {
  return [{ method: 'POST', pattern: '/v1/chat/completions', style: 'openai', handle: (context) => complete(parts, context) }];
}

const complete = async (parts: CompletionParts, context: RouteContext): Promise<HttpResponse> => {
  const chat = chatRequest(context.json());
  const id = `chatcmpl-${parts.random.uint32().toString(36)}${parts.random.uint32().toString(36)}`;
  const frame: Frame = { id, created: Math.floor(parts.clock.nowMs() / 1000), model: chat.model };
  const request: ClusterRequest = {
    requestId: id,
    model: chat.model,
    messages: chat.messages,
    ...routeFields.toRoute(chat, context.request.headers),
    sampling: chat.sampling,
    priority: 'normal',
    timeoutMs: parts.timeoutMs,
  };
  const choices = new ChoiceStream(parts.models, choiceRequests(request, chat.choices));
  if (!chat.stream) return whole(frame, chat, await choices.answers(context.signal));
  const { clock, pingMs } = parts;
  return streamAnswer(choices.events(context.signal), chunkFormat(frame, chat), { clock, pingMs, includeUsage: chat.includeUsage });
};

const whole = (frame: Frame, chat: ChatRequest, answers: readonly ClusterAnswer[]): HttpResponse => {
  const [first] = answers as readonly [ClusterAnswer];
  const choices = answers.map((answer, index) => ({
    index,
    message: { role: 'assistant', content: answer.text, refusal: null },
    logprobs: openAiFields.chatLogprobs(chat.sampling.logprobsTop === undefined ? undefined : answer.logprobs),
    finish_reason: answer.finishReason,
  }));
  const headers = routeFields.headers(answers.map(({ routing }) => routing));
  const body = {
    ...frame,
    object: 'chat.completion',
    choices,
    usage: openAiFields.usage(usageOf(answers)),
    ostraka: { ...openAiFields.routing(first.routing), timing: openAiFields.timing(first.timing) },
  };
  return responses.json(200, body, headers);
};

/** The question counts once, however many answers there are. */
const usageOf = (answers: readonly ClusterAnswer[]): TokenUsage => {
  const [first] = answers as readonly [ClusterAnswer];
  return { ...first.usage, completionTokens: answers.reduce((sum, { usage }) => sum + usage.completionTokens, 0) };
};

const chunkFormat = (frame: Frame, chat: ChatRequest): StreamFormat => {
  const usageField = chat.includeUsage ? { usage: null } : {};
  const chunk = (index: number, delta: object, extra: { readonly logprobs?: object | null; readonly finish_reason?: string } = {}) => ({
    ...frame,
    object: 'chat.completion.chunk',
    choices: [{ index, delta, logprobs: null, finish_reason: null, ...extra }],
    ...usageField,
  });
  return {
    opening: (index, routing) => ({
      ...chunk(index, { role: 'assistant', content: '' }),
      ...(routing && { ostraka: openAiFields.routing(routing) }),
    }),
    rerouted: (index, routing) => ({ ...chunk(index, {}), ostraka: openAiFields.routing(routing) }),
    text: (index, { text, logprobs }) => chunk(index, { content: text }, { logprobs: openAiFields.chatLogprobs(logprobs) }),
    ending: (index, finishReason) => chunk(index, {}, { finish_reason: finishReason }),
    usage: (usage) => ({
      ...frame,
      object: 'chat.completion.chunk',
      choices: [],
      usage: openAiFields.usage({
        ...usage,
        promptTokens: usage.promptTokens / chat.choices,
        cachedTokens: Math.round(usage.cachedTokens / chat.choices),
      }),
    }),
  };
};
