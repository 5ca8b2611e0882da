import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { HttpClient } from '../HttpClient.js';

interface LoadedAnswer {
  readonly domain: string;
  readonly digest: string;
  readonly shard: string;
  readonly scale: number;
  readonly source: string;
  readonly accuracyDelta: number;
}

/** `ostraka adapter load`. A file that is not here is named as given: the shard may be elsewhere and have its own folder of adapters. */
export async function adapterLoadCommand(options: {
  readonly domain: string;
  readonly file: string;
  readonly scale: number;
  readonly accuracyDelta?: number;
  readonly url: string;
  readonly json: boolean;
}): Promise<void> {
  const { domain, file, scale, accuracyDelta } = options;
  const answer = await new HttpClient({ url: options.url }).request<LoadedAnswer>('POST', '/v1/load_lora_adapter', {
    lora_name: domain,
    lora_path: existsSync(file) ? resolve(file) : file,
    scale,
    ...(accuracyDelta !== undefined && { accuracyDelta }),
  });
  process.stdout.write(options.json ? `${JSON.stringify(answer)}\n` : `${line(answer)}\n`);
}

const line = ({ domain, shard, digest, scale, accuracyDelta, source }: LoadedAnswer): string =>
  `${domain} is served by ${shard}: adapter ${digest.slice(0, 12)}, scale ${scale}, accuracyDelta ${accuracyDelta.toFixed(3)} (${source})`;
