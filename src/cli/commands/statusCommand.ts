import { HttpClient } from '../HttpClient.js';
import { describeJob } from '../jobs/describeJob.js';
import type { JobsAnswer } from '../jobs/JobAnswer.js';
import { printTable } from '../printTable.js';

interface ClusterAnswer {
  readonly epoch: number;
  readonly shards: readonly { readonly id: string; readonly url: string; readonly health: string; readonly ready: boolean }[];
  readonly slots: { readonly [shard: string]: number };
  readonly announcements: readonly {
    readonly shardId: string;
    readonly domain: string;
    readonly accuracyDelta: number;
    readonly source: string;
    readonly performanceDeltaP99Ms: number;
  }[];
  readonly breakers: { readonly [shard: string]: string };
  readonly loads: {
    readonly [shard: string]: {
      readonly pendingLlmRequests: number;
      readonly sequencesBusy: number;
      readonly sequencesTotal: number;
    } | null;
  };
}

/** `ostraka status`: the cluster as the asked shard sees it, and what its shards are at. */
export async function statusCommand(options: { readonly url: string; readonly json: boolean }): Promise<void> {
  const client = new HttpClient({ url: options.url });
  const cluster = await client.request<ClusterAnswer>('GET', '/_admin/ostraka/cluster');
  const { jobs } = await client.request<JobsAnswer>('GET', '/_ostraka/jobs');
  if (options.json) {
    process.stdout.write(`${JSON.stringify({ ...cluster, jobs }, undefined, 2)}\n`);
    return;
  }
  const rows = cluster.shards.map(({ id, url, health, ready }) => {
    const load = cluster.loads[id];
    const busy = load ? `${load.pendingLlmRequests} pending, ${load.sequencesBusy}/${load.sequencesTotal} busy` : 'no fresh report';
    return [
      id,
      url,
      ready ? health : `${health}, not ready`,
      `${cluster.slots[id] ?? 0} slots`,
      busy,
      `breaker ${cluster.breakers[id] ?? 'closed'}`,
    ];
  });
  printTable(rows);
  printTable(
    cluster.announcements.map(({ shardId, domain, accuracyDelta, source, performanceDeltaP99Ms }) => [
      domain,
      shardId,
      `accuracyDelta ${accuracyDelta.toFixed(3)} (${source})`,
      `p99 ${performanceDeltaP99Ms >= 0 ? '+' : ''}${performanceDeltaP99Ms.toFixed(0)} ms`,
    ]),
  );
  printTable(jobs.map(describeJob));
}
