import { utf8 } from '../../base/index.js';
import type { ClusterJobList, ClusterJobs, JobReport } from '../../cooperation/index.js';
import type { Clock } from '../../platform/index.js';
import { gatewayError } from '../errors.js';
import type { GatewayOptions } from '../options.js';
import type { Route, RouteContext } from '../Route.js';
import { responses } from '../responses.js';

interface JobRouteParts {
  readonly jobs: ClusterJobs;
  readonly clock: Clock;
  readonly options: GatewayOptions;
}

const path = '/_ostraka/jobs';

/**
 * What the cluster is at that takes over a second (R38): `GET /_ostraka/jobs` as JSON, or as events where the client accepts
 * `text/event-stream`; `DELETE /_ostraka/jobs/<job>` ends one that embeds rows. Errors: JOB_UNKNOWN, JOB_STREAMS_FULL.
 */
export function jobRoutes(parts: JobRouteParts): readonly Route[] {
  const streams = new JobStreams(parts);
  return [
    {
      method: 'GET',
      pattern: path,
      style: 'arango',
      handle: async (context) => {
        if (wantsEvents(context)) return streams.open(context.signal);
        return responses.arango(200, await parts.jobs.list(context.signal), { 'cache-control': 'no-store' });
      },
    },
    {
      method: 'DELETE',
      pattern: `${path}/:job`,
      style: 'arango',
      handle: async ({ parameters, signal }) => {
        const job = parameters['job'] ?? '';
        const { shards, unreachable } = await parts.jobs.cancel(job, signal);
        if (shards.length === 0)
          throw gatewayError('JOB_UNKNOWN', `no shard that answers has a job ${job} that can be ended`, {
            data: { unreachable: [...unreachable] },
          });
        return responses.arango(200, { job, shards, unreachable });
      },
    },
  ];
}

const wantsEvents = ({ request }: RouteContext): boolean => /\btext\/event-stream\b/i.test(request.headers['accept'] ?? '');

const headers = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache', 'x-accel-buffering': 'no' };

/** Clients that follow jobs: each is told of what changed, at most once in `jobEventsMs`, until it leaves. */
class JobStreams {
  readonly #parts: JobRouteParts;
  #open = 0;

  constructor(parts: JobRouteParts) {
    this.#parts = parts;
  }

  open(signal: AbortSignal) {
    const { jobStreamsMax } = this.#parts.options;
    if (this.#open >= jobStreamsMax) throw gatewayError('JOB_STREAMS_FULL', `${jobStreamsMax} clients follow the jobs already`);
    return { status: 200, headers, body: this.#events(signal) };
  }

  async *#events(signal: AbortSignal): AsyncGenerator<Uint8Array, void, void> {
    const { jobs, clock, options } = this.#parts;
    const told = new Map<string, string>();
    this.#open++; // of one that is read: whoever asks for the head alone takes no place
    try {
      for (let sentMs = clock.monotonicMs(); !signal.aborted; ) {
        const events = changesOf(await jobs.list(signal), told);
        const isSilent = clock.monotonicMs() - sentMs >= options.streamPingMs;
        if (events !== '' || isSilent) {
          sentMs = clock.monotonicMs();
          yield utf8.encode(events === '' ? ': ping\n\n' : events);
        }
        await clock.sleep(options.jobEventsMs, signal).catch(() => undefined);
      }
    } finally {
      this.#open--;
    }
  }
}

/** An event for each job that is not as it was told last, and one for each that is listed no more. The first time there is always one. */
function changesOf({ jobs, unreachable }: ClusterJobList, told: Map<string, string>): string {
  const now = new Map(jobs.map((job) => [keyOf(job), JSON.stringify(job)]));
  const shards = JSON.stringify({ unreachable });
  const events = told.get('') === shards ? [] : [`event: shards\ndata: ${shards}\n\n`];
  for (const [key, text] of now) if (told.get(key) !== text) events.push(`event: job\ndata: ${text}\n\n`);
  for (const key of told.keys()) if (key !== '' && !now.has(key)) events.push(`event: gone\ndata: ${key}\n\n`);
  told.clear();
  for (const [key, text] of now) told.set(key, text);
  told.set('', shards);
  return events.join('');
}

const keyOf = ({ job, shard, startedAt }: JobReport): string => JSON.stringify({ job, shard, startedAt });
