import { assert, toOstrakaError, utf8 } from '../../base/index.js';
import type { ClusterEvent, ClusterModelService, ClusterRequest, RoutingReport } from '../../cooperation/index.js';
import type { Clock, GenerateTiming, HttpResponse, Random, TokenUsage } from '../../platform/index.js';
import type { Route, RouteContext } from '../Route.js';
import { responses } from '../responses.js';
import { type ChatRequest, chatRequest } from './chatRequest.js';

interface Parts {
  readonly models: ClusterModelService;
  readonly clock: Clock;
  readonly random: Random;
  readonly timeoutMs: number;
}

interface Frame {
  readonly id: string;
  readonly created: number;
  readonly model: string;
}

/** POST /v1/chat/completions in OpenAI's shape, streamed or whole, routed by `domain` or the header x-ostraka-domain. */
export function chatRoutes(parts: Parts): readonly Route[] {
  return [{ method: 'POST', pattern: '/v1/chat/completions', style: 'openai', handle: (context) => complete(parts, context) }];
}

const complete = async (parts: Parts, context: RouteContext): Promise<HttpResponse> => {
  const chat = chatRequest(context.json());
  const domain = chat.domain ?? context.request.headers['x-ostraka-domain'];
  const id = `chatcmpl-${parts.random.uint32().toString(36)}${parts.random.uint32().toString(36)}`;
  const frame: Frame = { id, created: Math.floor(parts.clock.nowMs() / 1000), model: chat.model };
  const request: ClusterRequest = {
    requestId: id,
    model: chat.model,
    messages: chat.messages,
    ...(domain === undefined ? {} : { domain }),
    sampling: chat.sampling,
    priority: 'normal',
    timeoutMs: parts.timeoutMs,
  };
  return chat.stream ? stream(parts, context, { chat, frame, request }) : whole(parts, context, frame, request);
};

const whole = async (parts: Parts, context: RouteContext, frame: Frame, request: ClusterRequest): Promise<HttpResponse> => {
  const answer = await parts.models.answer(request, context.signal);
  const choice = {
    index: 0,
    message: { role: 'assistant', content: answer.text, refusal: null },
    logprobs: null,
    finish_reason: answer.finishReason,
  };
  return responses.json(200, {
    ...frame,
    object: 'chat.completion',
    choices: [choice],
    usage: usageOf(answer.usage),
    ostraka: { ...routingOf(answer.routing), timing: timingOf(answer.timing) },
  });
};

/** The head waits for admission: what fails before is an HTTP error, what fails later an error event without `[DONE]`. */
const stream = async (
  parts: Parts,
  context: RouteContext,
  given: { readonly chat: ChatRequest; readonly frame: Frame; readonly request: ClusterRequest },
): Promise<HttpResponse> => {
  const events = parts.models.generate(given.request, context.signal);
  let routing: RoutingReport | undefined;
  for (let next = await events.next(); ; next = await events.next()) {
    assert(!next.done, 'a generation ends with a finished event or an error');
    if (next.value.kind === 'routed') routing = next.value.routing;
    if (next.value.kind === 'admitted') break;
  }
  return {
    status: 200,
    headers: { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache', 'x-accel-buffering': 'no' },
    body: serverSentEvents(events, { ...given, routing }),
  };
};

async function* serverSentEvents(
  events: AsyncIterable<ClusterEvent>,
  given: { readonly chat: ChatRequest; readonly frame: Frame; readonly routing: RoutingReport | undefined },
): AsyncGenerator<Uint8Array, void, void> {
  const { frame, chat } = given;
  const usageField = chat.includeUsage ? { usage: null } : {};
  const chunk = (delta: object, finishReason: string | null, extra: object = {}): Uint8Array =>
    event({
      ...frame,
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finishReason }],
      ...usageField,
      ...extra,
    });
  try {
    yield chunk({ role: 'assistant', content: '' }, null, given.routing ? { ostraka: routingOf(given.routing) } : {});
    for await (const one of events) {
      if (one.kind === 'text') yield chunk({ content: one.text }, null);
      // Lost after admission and before any text: another shard answers, and the client hears which.
      if (one.kind === 'routed') yield chunk({}, null, { ostraka: routingOf(one.routing) });
      // Proxies cut silent connections; a comment is no event to a client.
      if (one.kind === 'progress') yield utf8.encode(': ping\n\n');
      if (one.kind !== 'finished') continue;
      yield chunk({}, one.finishReason);
      if (chat.includeUsage) yield event({ ...frame, object: 'chat.completion.chunk', choices: [], usage: usageOf(one.usage) });
    }
    yield utf8.encode('data: [DONE]\n\n');
  } catch (thrown) {
    yield event({ error: responses.openAiErrorFields(toOstrakaError(thrown), 'stream_interrupted') });
  }
}

const event = (data: object): Uint8Array => utf8.encode(`data: ${JSON.stringify(data)}\n\n`);

const usageOf = (usage: TokenUsage) => ({
  prompt_tokens: usage.promptTokens,
  completion_tokens: usage.completionTokens,
  total_tokens: usage.promptTokens + usage.completionTokens,
  prompt_tokens_details: { cached_tokens: usage.cachedTokens },
});

const routingOf = (routing: RoutingReport) => ({
  shard: routing.shardId,
  adapter: routing.adapterDigest ?? null,
  routing: { decision: routing.decision, score: routing.score, tier: routing.tier ?? null },
});

const timingOf = ({ queueMs, firstTokenMs, totalMs }: GenerateTiming) => ({ queue_ms: queueMs, ttft_ms: firstTokenMs, total_ms: totalMs });
