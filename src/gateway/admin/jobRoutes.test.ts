import { beforeEach, describe, expect, it } from 'vitest';
import { ManualClock, settle } from '../../../test/support/ManualClock.js';
import { utf8 } from '../../base/index.js';
import type { ClusterJobList, ClusterJobs, JobReport } from '../../cooperation/index.js';
import type { HttpResponse } from '../../platform/index.js';
import { gatewayOptions } from '../options.js';
import type { Route, RouteContext } from '../Route.js';
import { jobRoutes } from './jobRoutes.js';

const job: JobReport = {
  job: 'embed:s0:1',
  shard: 's0',
  kind: 'embed',
  title: 'embed a/b into v',
  state: 'running',
  unit: 'rows',
  done: 1,
  total: 4,
  ratePerSecond: 2,
  secondsLeft: 2,
  startedAt: 1000,
  seconds: 1,
};

let clock: ManualClock;
let list: ClusterJobList;
let routes: readonly Route[];
beforeEach(() => {
  clock = new ManualClock();
  list = { jobs: [job], unreachable: [] };
  const jobs = {
    list: async () => list,
    cancel: async (name: string) => ({ shards: name === job.job ? ['s0'] : [], unreachable: ['s2'] }),
  } as unknown as ClusterJobs;
  routes = jobRoutes({ jobs, clock, options: gatewayOptions.parse({ jobEventsMs: 1_000, streamPingMs: 3_000, jobStreamsMax: 1 }) });
});

const ask = (
  method: string,
  context: { readonly accept?: string; readonly job?: string; readonly signal?: AbortSignal } = {},
): Promise<HttpResponse> => {
  const route = routes.find((one) => one.method === method) as Route;
  const { accept, job: name, signal = new AbortController().signal } = context;
  const request = { headers: accept === undefined ? {} : { accept } };
  return route.handle({ request, signal, parameters: name === undefined ? {} : { job: name } } as unknown as RouteContext);
};

describe('GET /_ostraka/jobs (R38)', () => {
  it('tells of the jobs of all shards, and who did not say', async () => {
    list = { jobs: [job], unreachable: ['s2'] };
    const { status, body } = await ask('GET');
    expect([status, JSON.parse(String(body))]).toEqual([200, { ...list, error: false, code: 200 }]);
  });

  it('streams what has changed as events, pings when nothing does, and ends when the client hangs up', async () => {
    const client = new AbortController();
    const response = await ask('GET', { accept: 'text/event-stream', signal: client.signal });
    expect(response.headers['content-type']).toMatch('text/event-stream');
    const seen: string[] = [];
    const reading = (async () => {
      for await (const piece of response.body as AsyncIterable<Uint8Array>) seen.push(utf8.decode(piece));
    })();
    await settle();
    expect(seen).toEqual([`event: shards\ndata: {"unreachable":[]}\n\nevent: job\ndata: ${JSON.stringify(job)}\n\n`]);
    const tick = async (): Promise<string | undefined> => {
      const before = seen.length;
      await clock.advance(1_000);
      await settle();
      return seen[before];
    };
    expect(await tick()).toBeUndefined();
    const further = { ...job, done: 2 };
    list = { jobs: [further], unreachable: [] };
    expect(await tick()).toBe(`event: job\ndata: ${JSON.stringify(further)}\n\n`);
    list = { jobs: [], unreachable: ['s2'] };
    expect(await tick()).toBe(
      'event: shards\ndata: {"unreachable":["s2"]}\n\nevent: gone\ndata: {"job":"embed:s0:1","shard":"s0","startedAt":1000}\n\n',
    );
    expect([await tick(), await tick(), await tick()]).toEqual([undefined, undefined, ': ping\n\n']);
    client.abort();
    await reading;
  });

  it('is followed by a bounded number of clients, and a place is free again when one leaves', async () => {
    const client = new AbortController();
    const first = await ask('GET', { accept: 'text/event-stream', signal: client.signal });
    const stream = (first.body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
    await stream.next();
    await expect(ask('GET', { accept: 'text/event-stream' })).rejects.toMatchObject({ code: 'JOB_STREAMS_FULL', httpStatus: 429 });
    client.abort();
    expect((await stream.next()).done).toBe(true);
    expect((await ask('GET', { accept: 'text/event-stream' })).status).toBe(200);
  });
});

describe('DELETE /_ostraka/jobs/:job (R28)', () => {
  it('ends a job, and knows none of another name', async () => {
    expect(JSON.parse(String((await ask('DELETE', { job: job.job })).body))).toMatchObject({
      job: job.job,
      shards: ['s0'],
      unreachable: ['s2'],
    });
    await expect(ask('DELETE', { job: 'x' })).rejects.toMatchObject({ code: 'JOB_UNKNOWN', data: { unreachable: ['s2'] } });
  });
});
