import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../test/support/ManualClock.js';
import { CountingRandom } from '../../../test/support/silentPorts.js';
import { asId, type JsonValue, type ShardId, utf8 } from '../../base/index.js';
import type { ClusterAnswer, ClusterEvent, ClusterModelService, ClusterRequest, RoutingReport } from '../../cooperation/index.js';
import type { HttpResponse } from '../../platform/index.js';
import { gatewayOptions } from '../options.js';
import type { Route, RouteContext } from '../Route.js';
import { chatRoutes } from './chat/chatRoutes.js';
import { completionRoutes } from './completionRoutes.js';

const usage = { promptTokens: 1, completionTokens: 1, cachedTokens: 0 };
const timing = { queueMs: 0, firstTokenMs: 1, totalMs: 2 };
const base = { shardId: asId<ShardId>('shard-1'), score: 0, tier: undefined };
const fellBack: RoutingReport = { ...base, decision: 'ring', fallback: 'no_capable_shard' };
const served: RoutingReport = { ...base, decision: 'domain' };

class OneAnswer {
  readonly requests: ClusterRequest[] = [];
  readonly #routing: RoutingReport;

  constructor(routing: RoutingReport) {
    this.#routing = routing;
  }

  async answer(request: ClusterRequest): Promise<ClusterAnswer> {
    this.requests.push(request);
    return { text: 'yes', logprobs: [], finishReason: 'stop', usage, timing, routing: this.#routing };
  }

  async *generate(request: ClusterRequest): AsyncGenerator<ClusterEvent, void, void> {
    this.requests.push(request);
    yield { kind: 'routed', routing: this.#routing };
    yield { kind: 'admitted', promptTokens: 1 };
    yield { kind: 'finished', finishReason: 'stop', usage, timing };
  }
}

const chat = { messages: [{ role: 'user', content: 'well?' }] };
const completion = { prompt: 'well' };

const ask = async (
  body: { readonly [name: string]: JsonValue },
  given: { readonly routing?: RoutingReport; readonly headers?: { readonly [name: string]: string } } = {},
): Promise<{ readonly response: HttpResponse; readonly text: string; readonly request: ClusterRequest }> => {
  const service = new OneAnswer(given.routing ?? fellBack);
  const models = service as unknown as ClusterModelService;
  const make = 'prompt' in body ? completionRoutes : chatRoutes;
  const [route] = make({
    models,
    clock: new ManualClock(),
    random: new CountingRandom(),
    timeoutMs: 1000,
    pingMs: 15_000,
    limits: gatewayOptions.parse({}),
  });
  const context = {
    json: () => ({ model: 'default', ...body }),
    request: { headers: given.headers ?? {} },
    signal: new AbortController().signal,
  };
  const response = await (route as Route).handle(context as unknown as RouteContext);
  let text = typeof response.body === 'string' ? response.body : '';
  if (typeof response.body === 'object' && !(response.body instanceof Uint8Array))
    for await (const piece of response.body) text += utf8.decode(piece);
  return { response, text, request: service.requests[0] as ClusterRequest };
};

describe('a domain that no shard serves', () => {
  it.each([
    ['chat', chat, false],
    ['chat', chat, true],
    ['text', completion, false],
    ['text', completion, true],
  ])('is said in a header of the answer (%s, stream %s)', async (_kind, body, stream) => {
    const { response } = await ask({ ...body, domain: 'cooking', stream });
    expect(response.headers).toMatchObject({ 'x-ostraka-fallback': 'no_capable_shard' });
    const { response: other } = await ask({ ...body, domain: 'legal', stream }, { routing: served });
    expect(other.headers).not.toHaveProperty('x-ostraka-fallback');
  });

  it('is said in the body of a chat answer, or in its first chunk', async () => {
    expect(JSON.parse((await ask({ ...chat, domain: 'cooking' })).text).ostraka.routing.fallback).toBe('no_capable_shard');
    const [first = ''] = (await ask({ ...chat, domain: 'cooking', stream: true })).text.split('\n\n');
    expect(JSON.parse(first.replace('data: ', '')).ostraka.routing.fallback).toBe('no_capable_shard');
    expect(JSON.parse((await ask({ ...chat, domain: 'legal' }, { routing: served })).text).ostraka.routing.fallback).toBeNull();
  });
});

describe('the fallback of a domain', () => {
  it.each([
    ['chat', chat],
    ['text', completion],
  ])('is forbidden by the body or by a header, the body first (%s)', async (_kind, body) => {
    const header = { 'x-ostraka-domain': 'cooking', 'x-ostraka-domain-fallback': 'fail' };
    expect((await ask({ ...body, domain: 'cooking', domain_fallback: 'fail' })).request).toMatchObject({
      domain: 'cooking',
      route: { fallback: 'fail' },
    });
    expect((await ask(body, { headers: header })).request).toMatchObject({ domain: 'cooking', route: { fallback: 'fail' } });
    expect((await ask({ ...body, domain_fallback: 'hash' }, { headers: header })).request.route).toEqual({ fallback: 'hash' });
    expect((await ask({ ...body, domain: 'cooking' })).request).not.toHaveProperty('route');
  });

  it('is refused with another word, in either place', async () => {
    await expect(ask({ ...chat, domain_fallback: 'maybe' })).rejects.toMatchObject({
      code: 'PARAMETER_BAD',
      data: { param: 'domain_fallback' },
    });
    await expect(ask(chat, { headers: { 'x-ostraka-domain-fallback': 'no' } })).rejects.toMatchObject({
      code: 'PARAMETER_BAD',
      data: { param: 'x-ostraka-domain-fallback' },
    });
  });
});
