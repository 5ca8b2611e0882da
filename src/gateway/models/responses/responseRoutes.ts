import type { HttpResponse } from '../../../platform/index.js';
import type { Route, RouteContext } from '../../Route.js';
import { responses } from '../../responses.js';
import type { CompletionParts } from '../CompletionParts.js';
import { ChatCall } from '../chat/ChatCall.js';
import { newId } from '../newId.js';
import { routeFields } from '../routeFields.js';
import { streamEvents } from '../streamEvents.js';
import { ResponseEvents } from './ResponseEvents.js';
import { responseRequest } from './responseRequest.js';

/** POST /v1/responses in OpenAI's shape, streamed or whole, without any state between requests. */
export function responseRoutes(parts: CompletionParts): readonly Route[] {
  return [{ method: 'POST', pattern: '/v1/responses', style: 'openai', handle: (context) => respond(parts, context) }];
}

const respond = async (parts: CompletionParts, context: RouteContext): Promise<HttpResponse> => {
  const request = responseRequest(context.json(), parts.limits);
  const events = new ResponseEvents({
    frame: { id: newId('resp_', parts.random), created: Math.floor(parts.clock.nowMs() / 1000) },
    request,
    requestId: context.requestId,
    newItemId: (prefix) => newId(prefix, parts.random),
  });
  const call = new ChatCall(parts, context, request);
  if (request.stream) return streamEvents(call.events(), events, parts);
  for await (const event of call.events()) for (const _ of events.write(event));
  return responses.json(200, events.response(), routeFields.headers(events.routings()));
};
