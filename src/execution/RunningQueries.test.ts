import { describe, expect, it } from 'vitest';
import { RunningQueries } from './RunningQueries.js';

const query = (id: string) => ({ id, database: 'd', query: 'RETURN 1', startedAtMs: 0, kill: () => undefined });
const full = expect.objectContaining({ code: 'QUEUE_FULL', httpStatus: 429 });

describe('places of running queries', () => {
  it('are left by those that rest, which stay listed, and taken again only where there is one', () => {
    const queries = new RunningQueries({ queriesMax: 2 });
    for (const id of ['a', 'b']) queries.add(query(id));
    expect(() => queries.add(query('c'))).toThrowError(full);
    const place = queries.placeOf('a');
    place.leave();
    place.leave();
    queries.add(query('c'));
    expect(queries.list().map(({ id }) => id)).toEqual(['a', 'b', 'c']);
    expect(() => place.take()).toThrowError(full);
    expect(() => queries.add(query('d'))).toThrowError(full);
    queries.delete('b');
    place.take();
    place.take();
    expect(() => queries.add(query('d'))).toThrowError(full);
  });

  it("of a query that has ended are nobody's: leaving and taking it again changes nothing", () => {
    const queries = new RunningQueries({ queriesMax: 1 });
    queries.add(query('a'));
    const place = queries.placeOf('a');
    place.leave();
    queries.delete('a');
    place.leave();
    queries.add(query('b'));
    place.take();
    expect(() => queries.add(query('c'))).toThrowError(full);
  });

  it('count those that wait to be started, until they are', () => {
    const queries = new RunningQueries({ queriesMax: 2 });
    const entered = queries.enter();
    queries.add(query('a'));
    expect(() => queries.enter()).toThrowError(full);
    expect(() => queries.add(query('b'))).toThrowError(full);
    entered();
    queries.add(query('b'));
  });
});
