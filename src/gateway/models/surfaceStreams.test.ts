import { describe, expect, it } from 'vitest';
import { ManualClock, settle } from '../../../test/support/ManualClock.js';
import { CountingRandom } from '../../../test/support/silentPorts.js';
import { asId, type JsonValue, type ShardId, utf8 } from '../../base/index.js';
import { type ClusterEvent, type ClusterModelService, cooperationError } from '../../cooperation/index.js';
import { gatewayOptions } from '../options.js';
import type { Route, RouteContext } from '../Route.js';
import type { CompletionParts } from './CompletionParts.js';
import { chatRoutes } from './chat/chatRoutes.js';
import { completionRoutes } from './completionRoutes.js';
import { messageRoutes } from './messages/messageRoutes.js';
import { responseRoutes } from './responses/responseRoutes.js';

const routing = { shardId: asId<ShardId>('s'), decision: 'ring' as const, score: 0, tier: undefined };
const user = [{ role: 'user', content: 'q' }];

interface Surface {
  readonly name: string;
  readonly routes: (parts: CompletionParts) => readonly Route[];
  readonly body: { readonly [name: string]: JsonValue };
  readonly ping: string;
  /** What the error of a broken stream is. */
  readonly broken: object;
}

const ofOpenAi = { error: { code: 'stream_interrupted', type: 'server_error', message: 'lost', param: null, request_id: 'r' } };
const surfaces: readonly Surface[] = [
  { name: 'chat completions', routes: chatRoutes, body: { model: 'm', messages: user }, ping: ': ping\n\n', broken: ofOpenAi },
  { name: 'text completions', routes: completionRoutes, body: { model: 'm', prompt: 'q' }, ping: ': ping\n\n', broken: ofOpenAi },
  {
    name: 'responses',
    routes: responseRoutes,
    body: { model: 'm', input: 'q' },
    ping: ': ping\n\n',
    broken: { type: 'error', code: 'stream_interrupted', message: 'lost', request_id: 'r' },
  },
  {
    name: 'messages',
    routes: messageRoutes,
    body: { model: 'm', max_tokens: 9, messages: user },
    ping: 'event: ping\ndata: {"type":"ping"}\n\n',
    broken: { type: 'error', error: { type: 'overloaded_error', code: 'stream_interrupted', message: 'lost' }, request_id: 'r' },
  },
];

describe.each(surfaces)('a stream of $name', ({ routes, body, ping, broken }) => {
  /** The stream of an answer that says a word and then does what `then` does. */
  const open = async (clock: ManualClock, then: (signal: AbortSignal) => Promise<void>): Promise<AsyncIterator<Uint8Array>> => {
    const generate = async function* (_: unknown, signal: AbortSignal): AsyncGenerator<ClusterEvent> {
      yield { kind: 'routed', routing };
      yield { kind: 'admitted', promptTokens: 1 };
      yield { kind: 'text', text: 'word', tokens: 1 };
      await then(signal);
    };
    const models = { generate } as unknown as ClusterModelService;
    const parts = { models, clock, random: new CountingRandom(), timeoutMs: 1000, pingMs: 15_000, limits: gatewayOptions.parse({}) };
    const [route] = routes(parts) as readonly [Route];
    const context = {
      json: () => ({ ...body, stream: true }),
      request: { headers: {} },
      requestId: 'r',
      signal: new AbortController().signal,
    };
    const response = await route.handle(context as unknown as RouteContext);
    return (response.body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
  };
  const restOf = async (iterator: AsyncIterator<Uint8Array>, into: string[]): Promise<void> => {
    for (let next = await iterator.next(); !next.done; next = await iterator.next()) into.push(utf8.decode(next.value));
  };

  it('that breaks ends with its error, typed and with the id of the request, and with no end of an answer', async () => {
    const pieces: string[] = [];
    const fail = async (): Promise<never> => {
      throw cooperationError('STREAM_INTERRUPTED', 'lost');
    };
    await restOf(await open(new ManualClock(), fail), pieces);
    const data = (pieces.at(-1) ?? '').split('\n').find((line) => line.startsWith('data: '));
    expect(JSON.parse(data?.slice(6) ?? '')).toMatchObject(broken);
    expect(pieces.join('')).toContain('word');
    expect(pieces.join('')).not.toMatch(/\[DONE\]|response\.completed|message_stop|"finish_reason":"/);
  });

  it('that is silent sends pings, and one that nobody reads any more ends its generation', async () => {
    const clock = new ManualClock();
    let isEnded = false;
    const iterator = await open(clock, async () => {
      try {
        await clock.sleep(40_000, new AbortController().signal);
      } finally {
        isEnded = true;
      }
    });
    const pieces: string[] = [];
    const reading = restOf(iterator, pieces);
    await settle();
    const before = pieces.length;
    await clock.advance(31_000);
    expect(pieces.slice(before)).toEqual([ping, ping]);
    const left = iterator.return?.();
    await clock.advance(10_000);
    await Promise.all([left, reading]);
    expect([isEnded, clock.timers]).toEqual([true, 0]);
  });
});
