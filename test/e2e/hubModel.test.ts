import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sha256Hex } from '../../src/base/index.js';
import { HubServer } from '../support/HubServer.js';
import { LocalCluster } from '../support/LocalCluster.js';
import { runCommand } from '../support/runCommand.js';

const fileOf = (variable: string): string => process.env[variable] as string;
const name = 'hf:owner/repo/chat.gguf';

let folder: string;
let hub: HubServer;
let file: Buffer;
const clusters: LocalCluster[] = [];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ostraka-hub-'));
  file = await readFile(fileOf('OSTRAKA_TEST_CHAT_MODEL'));
  hub = await HubServer.start();
  hub.repositories.set('owner/repo', { commit: 'a'.repeat(40), files: { 'chat.gguf': file } });
});
afterAll(async () => {
  for (const cluster of clusters) await cluster.stop();
  await hub?.stop();
  await rm(folder, { recursive: true, force: true });
});

const answerOf = async (url: string | undefined): Promise<string> => {
  const body = JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: 'Say hello.' }], max_tokens: 8, temperature: 0 });
  const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  expect(response.status, await response.clone().text()).toBe(200);
  const { choices } = (await response.json()) as { readonly choices: readonly { readonly message: { readonly content: string } }[] };
  return choices[0]?.message.content ?? '';
};

it('up --model hf:… fetches from the hub, records the digest, serves the model by its file’s name; the next start needs no hub (R18)', {
  timeout: 120_000,
}, async () => {
  const args = [
    '--model',
    'hf:owner/repo',
    '--embedding-model',
    fileOf('OSTRAKA_TEST_EMBEDDING_MODEL'),
    '--sequences',
    '1',
    '--context',
    '256',
  ];
  const environment = { OSTRAKA_CACHE: folder };
  const first = await LocalCluster.start({ shards: 1, args, environment: { ...environment, HF_ENDPOINT: hub.url } });
  clusters.push(first);
  const said = await answerOf(first.shards[0]?.url);
  expect(said).not.toBe('');
  expect(first.stderr.join('')).toMatch(/fetching hf:owner\/repo\/chat\.gguf.* 100 %/s);
  await first.interrupt();
  expect(hub.asked.filter(({ of, method }) => of === 'store' && method === 'GET')).toHaveLength(1);

  const shown = JSON.parse((await runCommand(['model', 'show', name, '--json'], environment)).stdout) as object;
  expect(shown).toMatchObject({ name, digest: sha256Hex(file), commit: 'a'.repeat(40) });

  const asked = hub.asked.length;
  const again = await LocalCluster.start({
    shards: 1,
    args: ['--model', name, ...args.slice(2)],
    dataFolder: first.dataFolder,
    environment,
  });
  clusters.push(again);
  expect(await answerOf(again.shards[0]?.url)).toBe(said);
  expect(hub.asked.length).toBe(asked);
});
