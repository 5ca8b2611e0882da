import { HttpClient } from '../HttpClient.js';

/** `ostraka adapter unload`: returns when the running requests with the adapter have ended and it is freed. */
export async function adapterUnloadCommand(options: { readonly domain: string; readonly url: string }): Promise<void> {
  const { domain, url } = options;
  const answer = await new HttpClient({ url }).request<{ readonly shard: string }>('POST', '/v1/unload_lora_adapter', {
    lora_name: domain,
  });
  process.stdout.write(`${domain} is not served by ${answer.shard} any more\n`);
}
