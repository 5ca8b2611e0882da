import type { Route } from '../Route.js';
import { responses } from '../responses.js';

// Drivers switch behaviour on the server's version: the data API follows ArangoDB 3.12.
const version = { server: 'arango', license: 'community', version: '3.12.0' };

/** What a driver asks before anything else. */
export function versionRoutes(parts: {
  readonly productVersion: string;
  readonly nowMs: () => number;
  readonly urls: () => readonly string[];
}): readonly Route[] {
  const style = 'arango' as const;
  return [
    {
      method: 'GET',
      pattern: '/_api/version',
      style,
      handle: async () => responses.json(200, { ...version, details: { product: 'ostraka', 'product-version': parts.productVersion } }),
    },
    { method: 'GET', pattern: '/_api/engine', style, handle: async () => responses.json(200, { name: 'ostraka', supports: {} }) },
    { method: 'GET', pattern: '/_admin/time', style, handle: async () => responses.arango(200, { time: parts.nowMs() / 1000 }) },
    {
      method: 'GET',
      pattern: '/_admin/server/availability',
      style,
      handle: async () => responses.arango(200, { mode: 'default' }),
    },
    {
      method: 'GET',
      pattern: '/_api/cluster/endpoints',
      style,
      handle: async () =>
        responses.arango(200, { endpoints: parts.urls().map((url) => ({ endpoint: url.replace(/^http:/, 'http+tcp:') })) }),
    },
  ];
}
