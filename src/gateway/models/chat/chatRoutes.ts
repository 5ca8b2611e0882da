import type { HttpResponse } from '../../../platform/index.js';
import type { Route, RouteContext } from '../../Route.js';
import { responses } from '../../responses.js';
import type { CompletionParts } from '../CompletionParts.js';
import { newId } from '../newId.js';
import { routeFields } from '../routeFields.js';
import { streamEvents } from '../streamEvents.js';
import { ChatCall } from './ChatCall.js';
import { ChatChunks } from './ChatChunks.js';
import { chatCompletion } from './chatCompletion.js';
import { chatRequest } from './chatRequest.js';

/** POST /v1/chat/completions in OpenAI's shape, streamed or whole, routed by `domain` or the header x-ostraka-domain. */
export function chatRoutes(parts: CompletionParts): readonly Route[] {
  return [{ method: 'POST', pattern: '/v1/chat/completions', style: 'openai', handle: (context) => complete(parts, context) }];
}

const complete = async (parts: CompletionParts, context: RouteContext): Promise<HttpResponse> => {
  const chat = chatRequest(context.json(), parts.limits);
  const frame = { id: newId('chatcmpl-', parts.random), created: Math.floor(parts.clock.nowMs() / 1000), model: chat.model };
  const call = new ChatCall(parts, context, chat);
  if (chat.stream) return streamEvents(call.events(), new ChatChunks(frame, chat, context.requestId), parts);
  const answers = await call.answers();
  return responses.json(200, chatCompletion(frame, chat, answers), routeFields.headers(answers.map(({ routing }) => routing)));
};
