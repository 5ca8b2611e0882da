import { HttpClient } from '../HttpClient.js';
import { printTable } from '../printTable.js';

interface ListAnswer {
  readonly data: readonly {
    readonly domain: string;
    readonly digest: string;
    readonly scale: number;
    readonly shard: string;
    readonly source: string;
    readonly accuracyDelta: number;
    readonly inUse: boolean;
  }[];
}

/** `ostraka adapter list`: the adapters of all living shards as the asked one sees them. */
export async function adapterListCommand(options: { readonly url: string; readonly json: boolean }): Promise<void> {
  const answer = await new HttpClient({ url: options.url }).request<ListAnswer>('GET', '/v1/adapters');
  if (options.json) {
    process.stdout.write(`${JSON.stringify(answer.data, undefined, 2)}\n`);
    return;
  }
  printTable(
    answer.data.map(({ domain, shard, digest, scale, accuracyDelta, source, inUse }) => [
      domain,
      shard,
      digest.slice(0, 12),
      `scale ${scale}`,
      `accuracyDelta ${accuracyDelta.toFixed(3)} (${source})`,
      inUse ? 'in use' : '',
    ]),
  );
}
