import type { ClusterAnswer, ClusterRequest } from '../../cooperation/index.js';
import type { HttpResponse } from '../../platform/index.js';
import type { Route, RouteContext } from '../Route.js';
import { responses } from '../responses.js';
import { ChoiceStream } from './ChoiceStream.js';
import type { CompletionParts } from './CompletionParts.js';
import { choiceRequests } from './choiceRequests.js';
import { type CompletionRequest, completionRequest } from './completionRequest.js';
import { newId } from './newId.js';
import { openAiFields } from './openAiFields.js';
import { routeFields } from './routeFields.js';
import { type StreamFormat, streamAnswer } from './streamAnswer.js';
import { toSchedule } from './toSchedule.js';

interface Frame {
  readonly id: string;
  readonly object: 'text_completion';
  readonly created: number;
  readonly model: string;
}

/** POST /v1/completions in OpenAI's shape: continues a text without the chat template. */
export function completionRoutes(parts: CompletionParts): readonly Route[] {
  return [{ method: 'POST', pattern: '/v1/completions', style: 'openai', handle: (context) => complete(parts, context) }];
}

const complete = async (parts: CompletionParts, context: RouteContext): Promise<HttpResponse> => {
  const given = completionRequest(context.json(), parts.limits);
  const route = routeFields.toRoute(given, context.request.headers);
  const id = newId('cmpl-', parts.random);
  const frame: Frame = { id, object: 'text_completion', created: Math.floor(parts.clock.nowMs() / 1000), model: given.model };
  const requests = given.prompts.flatMap((prompt, place) => {
    const request: ClusterRequest = {
      requestId: `${context.requestId}-${place}`,
      model: given.model,
      messages: [],
      prompt,
      ...route,
      sampling: given.sampling,
      ...toSchedule(context.request, { streamed: given.stream, timeoutMs: parts.timeoutMs }),
    };
    return choiceRequests(request, given.choices);
  });
  const choices = new ChoiceStream(parts.models, requests);
  if (!given.stream) return whole(frame, given, await choices.answers(context.signal));
  const { clock, pingMs } = parts;
  const options = { clock, pingMs, includeUsage: given.includeUsage, requestId: context.requestId };
  return streamAnswer(choices.events(context.signal), chunkFormat(frame, given), options);
};

const promptOf = ({ prompts, choices }: CompletionRequest, index: number): string => prompts[Math.floor(index / choices)] as string;

const whole = (frame: Frame, given: CompletionRequest, answers: readonly ClusterAnswer[]): HttpResponse => {
  const choices = answers.map(({ text, logprobs, finishReason }, index) => {
    const before = given.echo ? promptOf(given, index) : '';
    return {
      index,
      text: before + text,
      logprobs: openAiFields.textLogprobs(given.sampling.logprobsTop === undefined ? undefined : logprobs, before.length),
      finish_reason: finishReason,
    };
  });
  const headers = routeFields.headers(answers.map(({ routing }) => routing));
  const usage = openAiFields.usageOf(
    answers.map(({ usage }) => usage),
    given.choices,
  );
  return responses.json(200, { ...frame, choices, usage: openAiFields.usage(usage) }, headers);
};

const chunkFormat = (frame: Frame, given: CompletionRequest): StreamFormat => {
  const usageField = given.includeUsage ? { usage: null } : {};
  const shown = new Map<number, number>();
  const chunk = (index: number, text: string, extra: { readonly logprobs?: object | null; readonly finish_reason?: string } = {}) => ({
    ...frame,
    choices: [{ index, text, logprobs: null, finish_reason: null, ...extra }],
    ...usageField,
  });
  const textChunk: StreamFormat['text'] = (index, { text, logprobs }) => {
    const offset = shown.get(index) ?? 0;
    shown.set(index, offset + text.length);
    return chunk(index, text, { logprobs: openAiFields.textLogprobs(logprobs, offset) });
  };
  return {
    opening: (index) => chunk(index, given.echo ? promptOf(given, index) : ''),
    rerouted: (index) => chunk(index, ''),
    text: textChunk,
    ending: (index, finishReason) => chunk(index, '', { finish_reason: finishReason }),
    usage: (usages) => ({ ...frame, choices: [], usage: openAiFields.usage(openAiFields.usageOf(usages, given.choices)) }),
  };
};
