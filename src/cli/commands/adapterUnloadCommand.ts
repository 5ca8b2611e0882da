import { HttpClient } from '../HttpClient.js';

/** `ostraka adapter unload`: returns when the running requests with the adapter have ended and it is freed. */
export async function adapterUnloadCommand(options: { readonly domain: string; readonly url: string }): Promise<void> {
  const { url } = options;
  const answer = await new HttpClient({ url }).request<{ readonly domain: string; readonly shard: string }>(
    'POST',
    '/v1/unload_lora_adapter',
    { lora_name: options.domain },
  );
  process.stdout.write(`${answer.domain} is not served by ${answer.shard} any more\n`);
}
