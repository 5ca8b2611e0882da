import { executionError, type QueryService, type RunningQuery } from '../../execution/index.js';
import type { HttpResponse } from '../../platform/index.js';
import type { Route, RouteContext } from '../Route.js';
import { responses } from '../responses.js';

type Queries = Pick<QueryService, 'running' | 'kill'>;

/** Queries that the asked shard coordinates now, those of one database, and their end. Ids are of that shard. */
export function runningQueryRoutes(parts: { readonly queries: Queries; readonly nowMs: () => number }): readonly Route[] {
  const style = 'arango' as const;
  const list = ({ database }: RouteContext): HttpResponse => {
    const own = parts.queries.running().filter((query) => query.database === database);
    return responses.json(
      200,
      own.map((query) => describe(query, parts.nowMs())),
    );
  };
  return [
    { method: 'GET', pattern: '/_api/query/current', style, handle: async (context) => list(context) },
    { method: 'DELETE', pattern: '/_api/query/:id', style, handle: async (context) => kill(parts.queries, context) },
  ];
}

/** ArangoDB's fields, `runTime` in seconds. */
const describe = ({ id, database, query, startedAtMs }: RunningQuery, nowMs: number) => ({
  id,
  database,
  query,
  started: new Date(startedAtMs).toISOString(),
  runTime: Math.max(0, nowMs - startedAtMs) / 1000,
  state: 'executing',
});

// Who may use one database does not end the queries of another.
const kill = (queries: Queries, { database, parameters }: RouteContext): HttpResponse => {
  const id = parameters['id'] as string;
  if (!queries.running().some((query) => query.id === id && query.database === database))
    throw executionError('QUERY_UNKNOWN', `no running query of database ${database} has the id ${id.slice(0, 80)} on this shard`);
  queries.kill(id);
  return responses.arango(200, {});
};
