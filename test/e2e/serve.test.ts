import { afterAll, beforeAll, expect, it } from 'vitest';
import { LocalCluster } from '../support/LocalCluster.js';

const fileOf = (variable: string): string => process.env[variable] as string;

let cluster: LocalCluster;
let url: string;
beforeAll(async () => {
  const [chat, embedding] = [fileOf('OSTRAKA_TEST_CHAT_MODEL'), fileOf('OSTRAKA_TEST_EMBEDDING_MODEL')];
  const models = ['--model', chat, '--embedding-model', embedding, '--serve', `second=${chat}`];
  cluster = await LocalCluster.start({ shards: 1, args: [...models, '--sequences', '1', '--context', '256'] });
  url = cluster.shards[0]?.url as string;
});
afterAll(() => cluster?.stop());

const isLoaded = async (name: string): Promise<boolean | undefined> => {
  const { data } = (await (await fetch(`${url}/v1/models`)).json()) as {
    readonly data: readonly { readonly id: string; readonly loaded?: boolean }[];
  };
  return data.find(({ id }) => id === name)?.loaded;
};

/** Asks again while the model is being loaded, as the answer says. */
const answerOf = async (model: string): Promise<string> => {
  const messages = [{ role: 'user', content: 'Say hello.' }];
  const body = JSON.stringify({ model, messages, max_tokens: 8, temperature: 0 });
  const post = () => fetch(`${url}/v1/chat/completions`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  let response = await post();
  for (let tries = 0; response.status === 503 && tries < 5; tries++) {
    expect(response.headers.get('retry-after')).not.toBeNull();
    response = await post();
  }
  expect(response.status, await response.clone().text()).toBe(200);
  const { choices } = (await response.json()) as { readonly choices: readonly { readonly message: { readonly content: string } }[] };
  return choices[0]?.message.content ?? '';
};

it('up --serve NAME=FILE serves a further model by that name, loaded by the first request for it, which it answers as the same file does by default (R18)', async () => {
  expect(await isLoaded('second')).toBe(false);
  const expected = await answerOf('default');
  expect(expected).not.toBe('');
  expect(await isLoaded('second')).toBe(false);
  expect(await answerOf('second')).toBe(expected);
  expect(await isLoaded('second')).toBe(true);
});
