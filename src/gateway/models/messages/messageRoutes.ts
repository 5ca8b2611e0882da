import { assert } from '../../../base/index.js';
import type { HttpResponse } from '../../../platform/index.js';
import type { Route, RouteContext } from '../../Route.js';
import { responses } from '../../responses.js';
import type { CompletionParts } from '../CompletionParts.js';
import type { ChatAnswer } from '../chat/ChatAnswer.js';
import { ChatCall } from '../chat/ChatCall.js';
import { newId } from '../newId.js';
import { routeFields } from '../routeFields.js';
import { streamEvents } from '../streamEvents.js';
import { MessageEvents } from './MessageEvents.js';
import { messageObject } from './messageObject.js';
import { messageCountRequest, messageRequest } from './messageRequest.js';

/** POST /v1/messages and /v1/messages/count_tokens in Anthropic's shape. */
export function messageRoutes(parts: CompletionParts): readonly Route[] {
  const style = 'anthropic' as const;
  return [
    { method: 'POST', pattern: '/v1/messages', style, handle: (context) => answer(parts, context) },
    { method: 'POST', pattern: '/v1/messages/count_tokens', style, handle: (context) => count(parts, context) },
  ];
}

const answer = async (parts: CompletionParts, context: RouteContext): Promise<HttpResponse> => {
  const request = messageRequest(context.json(), parts.limits);
  const frame = { id: newId('msg_', parts.random), model: request.model };
  const call = new ChatCall(parts, context, request);
  if (request.stream) return streamEvents(call.events(), new MessageEvents(frame, context.requestId), parts);
  const [whole] = (await call.answers()) as readonly [ChatAnswer];
  return responses.json(200, messageObject.whole(frame, whole), routeFields.headers([whole.routing]));
};

/** The engine says how long a prompt is when it admits it: the request is left there, before anything is computed. */
const count = async (parts: CompletionParts, context: RouteContext): Promise<HttpResponse> => {
  const call = new ChatCall(parts, context, messageCountRequest(context.json(), parts.limits));
  for await (const event of call.events()) {
    if (event.kind === 'opened') return responses.json(200, { input_tokens: event.promptTokens });
  }
  assert(false, 'a generation is admitted or fails');
};
