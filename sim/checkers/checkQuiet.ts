import { preparedRows } from '../cluster/preparedRows.js';
import type { SimClient } from '../workloads/SimClient.js';

interface ClusterView {
  readonly epoch: number;
  /** Digest of the owner of every slot. */
  readonly ringDigest: string;
  readonly shards: readonly { readonly id: string; readonly health: string; readonly ready: boolean; readonly incarnation: number }[];
  readonly slots: { readonly [shardId: string]: number };
  readonly announcements: readonly { readonly shardId: string; readonly domain: string; readonly adapterDigest: string }[];
  readonly loads: { readonly [shardId: string]: { readonly pendingLlmRequests: number; readonly sequencesBusy: number } | null };
}

const slotCount = 4096;

/**
 * After heal and quiet: every shard has the same picture of the cluster, and the true one; nobody holds a sequence, a request or a prepared
 * transaction any more.
 */
export async function checkQuiet(client: SimClient): Promise<void> {
  const pictures = new Map<string, string[]>();
  for (const shard of client.cluster.shards) {
    const answer = await client.ask(shard, { method: 'GET', path: '/_admin/ostraka/cluster' });
    if (answer.kind !== 'answer' || answer.status !== 200) {
      client.violate('liveness', `${shard.shardId} does not say what it knows of the cluster`);
      continue;
    }
    const view = answer.body as unknown as ClusterView;
    checkOwn(client, shard.shardId, view);
    const picture = pictureOf(view);
    pictures.set(picture, [...(pictures.get(picture) ?? []), shard.shardId]);
  }
  if (pictures.size > 1) client.violate('gossip', `pictures differ: ${[...pictures].map(([text, ids]) => `${ids}: ${text}`).join(' | ')}`);
  checkTruth(client, [...pictures.keys()][0]);
  for (const shard of client.cluster.shards) {
    const prepared = shard.disk.scan(preparedRows).length;
    if (prepared > 0) client.violate('doubt', `${shard.shardId} holds ${prepared} prepared transactions`);
  }
}

const checkOwn = (client: SimClient, shardId: string, view: ClusterView): void => {
  const unwell = view.shards.filter(({ health, ready }) => health !== 'alive' || !ready);
  if (unwell.length > 0) client.violate('gossip', `${shardId} holds for unwell: ${JSON.stringify(unwell)}`);
  const slots = Object.values(view.slots).reduce((total, count) => total + count, 0);
  if (slots !== slotCount) client.violate('ownership', `${shardId}: the ring has ${slots} owned slots`);
  const load = view.loads[shardId];
  if (load && load.pendingLlmRequests === 0 && load.sequencesBusy === 0) return;
  client.violate('slots', `${shardId} is idle and reports ${JSON.stringify(load)}`);
};

const pictureOf = ({ epoch, ringDigest, shards, announcements }: ClusterView): string =>
  JSON.stringify({
    epoch,
    ringDigest,
    shards: shards.map(({ id, incarnation }) => `${id}#${incarnation}`),
    announcements: announcements.map(({ shardId, domain, adapterDigest }) => `${shardId} ${domain} ${adapterDigest.slice(0, 8)}`).sort(),
  });

/** Announced is what the shards were started with. */
const checkTruth = (client: SimClient, picture: string | undefined): void => {
  if (picture === undefined) return;
  const { announcements } = JSON.parse(picture) as { readonly announcements: readonly string[] };
  const served = client.cluster.shards.flatMap(({ shardId, adapters }) =>
    adapters.map(({ domain, digest }) => `${shardId} ${domain} ${digest.slice(0, 8)}`),
  );
  if (JSON.stringify(served.sort()) !== JSON.stringify(announcements))
    client.violate('gossip', `announced is ${announcements}, served is ${served}`);
};
