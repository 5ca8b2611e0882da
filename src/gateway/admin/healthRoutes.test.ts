import { expect, it } from 'vitest';
import { silentMetrics } from '../../../test/support/silentPorts.js';
import type { Readiness } from '../Readiness.js';
import type { RouteContext } from '../Route.js';
import { healthRoutes } from './healthRoutes.js';

const ask = async (readiness: Readiness) => {
  const route = healthRoutes({ metrics: silentMetrics, readiness: () => readiness }).find(({ pattern }) => pattern === '/health/ready');
  const response = await route?.handle({} as RouteContext);
  return [response?.status, JSON.parse(String(response?.body))];
};

const shortage = { freeBytes: 25_000_000, neededBytes: 33_554_432 };

it.each<[string, Readiness, number, string]>([
  ['is ready', { ready: true, store: 'ok', reason: '', shortage: undefined }, 200, 'ready'],
  [
    'on a full disk stays in service, degraded: reads and removals go on',
    { ready: true, store: 'full', reason: 'full', shortage },
    200,
    'degraded',
  ],
  ['that starts is not ready', { ready: false, store: 'ok', reason: 'starting', shortage: undefined }, 503, 'not ready'],
  [
    'whose engine loads is not ready, and tells how far it is',
    { ready: false, store: 'ok', reason: 'starting', shortage: undefined, engine: { phase: 'chat model', percent: 40 } },
    503,
    'not ready',
  ],
  ['that starts on a full disk is not ready', { ready: false, store: 'full', reason: 'starting', shortage }, 503, 'not ready'],
])('a shard that %s', async (_, readiness, status, text) => {
  expect(await ask(readiness)).toEqual([
    status,
    {
      status: text,
      store: readiness.store,
      reason: readiness.reason,
      ...readiness.shortage,
      ...(readiness.engine && { engine: readiness.engine }),
    },
  ]);
});
