import type { Metrics } from '../../platform/index.js';
import type { Readiness } from '../Readiness.js';
import type { Route } from '../Route.js';
import { responses } from '../responses.js';

/** Liveness, readiness and metrics, for orchestrators and Prometheus. */
export function healthRoutes(parts: { readonly metrics: Metrics; readonly readiness: () => Readiness }): readonly Route[] {
  const style = 'arango' as const;
  return [
    { method: 'GET', pattern: '/health/live', style, handle: async () => responses.json(200, { status: 'live' }) },
    {
      method: 'GET',
      pattern: '/health/ready',
      style,
      handle: async () => {
        const { ready, store, reason, shortage, engine } = parts.readiness();
        const status = !ready ? 'not ready' : store === 'full' ? 'degraded' : 'ready';
        return responses.json(
          ready ? 200 : 503,
          { status, store, reason, ...shortage, ...(engine !== undefined && { engine }) },
          ready ? {} : { 'retry-after': '1' },
        );
      },
    },
    {
      method: 'GET',
      pattern: '/metrics',
      style,
      handle: async () => ({
        status: 200,
        headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' },
        body: await parts.metrics.render(),
      }),
    },
  ];
}
