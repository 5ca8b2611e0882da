import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../../test/support/ManualClock.js';
import { CountingRandom } from '../../../../test/support/silentPorts.js';
import { asId, type ShardId, utf8 } from '../../../base/index.js';
import type { ClusterEvent, ClusterModelService } from '../../../cooperation/index.js';
import { gatewayOptions } from '../../options.js';
import type { Route, RouteContext } from '../../Route.js';
import { chatRoutes } from './chatRoutes.js';

const routed = (shard: string, digest: string | undefined): ClusterEvent => ({
  kind: 'routed',
  routing: {
    shardId: asId<ShardId>(shard),
    decision: digest === undefined ? 'ring' : 'domain',
    score: 0,
    tier: undefined,
    ...(digest !== undefined && { adapter: { digest, scale: 1 } }),
  },
});

const finished: ClusterEvent = {
  kind: 'finished',
  finishReason: 'stop',
  usage: { promptTokens: 1, completionTokens: 1, cachedTokens: 0 },
  timing: { queueMs: 0, firstTokenMs: 1, totalMs: 2 },
};

describe('streamed chat completions', () => {
  it('names the shard that answers, also when the first was lost after admission', async () => {
    const events: readonly ClusterEvent[] = [
      routed('shard-1', 'a'.repeat(64)),
      { kind: 'admitted', promptTokens: 1 },
      routed('shard-2', undefined),
      { kind: 'admitted', promptTokens: 1 },
      { kind: 'text', text: 'yes', tokens: 1 },
      finished,
    ];
    const models = {
      generate: async function* () {
        yield* events;
      },
    } as unknown as ClusterModelService;
    const [route] = chatRoutes({
      models,
      clock: new ManualClock(),
      random: new CountingRandom(),
      timeoutMs: 1000,
      pingMs: 15_000,
      limits: gatewayOptions.parse({}),
    });
    const body = { model: 'default', stream: true, messages: [{ role: 'user', content: 'well?' }] };
    expect(route).toBeDefined();
    const response = await (route as Route).handle({
      json: () => body,
      request: { headers: {} },
      signal: new AbortController().signal,
    } as unknown as RouteContext);
    const shards: string[] = [];
    for await (const piece of response.body as AsyncIterable<Uint8Array>) {
      const found = /"shard":"([^"]+)"/.exec(utf8.decode(piece));
      if (found) shards.push(found[1] as string);
    }
    expect(shards).toEqual(['shard-1', 'shard-2']);
  });
});
