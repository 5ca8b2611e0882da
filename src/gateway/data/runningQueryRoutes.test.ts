import { beforeEach, describe, expect, it } from 'vitest';
import type { RunningQuery } from '../../execution/index.js';
import type { RouteContext } from '../Route.js';
import { RouteTable } from '../RouteTable.js';
import { runningQueryRoutes } from './runningQueryRoutes.js';

describe('running queries over HTTP', () => {
  let running: RunningQuery[];
  beforeEach(() => {
    running = ['_system', 'sample'].map((database, i) => {
      const id = String(i + 1);
      const kill = (): void => {
        running = running.filter((query) => query.id !== id);
      };
      return { id, database, query: `RETURN ${id}`, startedAtMs: 1_000, kill };
    });
  });
  const queries = {
    running: () => running,
    kill: (id: string) => running.find((query) => query.id === id)?.kill(),
  };
  const table = new RouteTable(runningQueryRoutes({ queries, nowMs: () => 3_500 }));
  const ask = async (method: string, path: string, database: string) => {
    const { route, parameters } = table.find(method, path);
    const { status, body } = await route.handle({ database, parameters } as unknown as RouteContext);
    return { status, body: JSON.parse(String(body)) };
  };

  it("are listed for their database in ArangoDB's shape", async () => {
    expect(await ask('GET', '/_api/query/current', 'sample')).toEqual({
      status: 200,
      body: [{ id: '2', database: 'sample', query: 'RETURN 2', started: '1970-01-01T00:00:01.000Z', runTime: 2.5, state: 'executing' }],
    });
    expect((await ask('GET', '/_api/query/current', 'empty')).body).toEqual([]);
  });

  it('are killed by their id', async () => {
    expect(await ask('DELETE', '/_api/query/2', 'sample')).toEqual({ status: 200, body: { error: false, code: 200 } });
    expect(running.map(({ id }) => id)).toEqual(['1']);
    await expect(ask('DELETE', '/_api/query/2', 'sample')).rejects.toMatchObject({ code: 'QUERY_UNKNOWN', httpStatus: 404 });
  });

  it.each(['1', '99', 'current', '__proto__'])('an id that is of no query of the database ends in QUERY_UNKNOWN: %s', async (id) => {
    await expect(ask('DELETE', `/_api/query/${id}`, 'sample')).rejects.toMatchObject({ code: 'QUERY_UNKNOWN' });
    expect(running).toHaveLength(2);
  });
});
