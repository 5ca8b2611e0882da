import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LocalCluster } from '../support/LocalCluster.js';

const run = (command: string, ...args: string[]) => spawnSync(command, args, { encoding: 'utf8' });

/** A small file system of its own, or why this machine gives none. */
const mountSmall = (): { readonly point: string } | { readonly why: string } => {
  const point = mkdtempSync(join(tmpdir(), 'ostraka-disk-'));
  const mounted = run('mount', '-t', 'tmpfs', '-o', 'size=96m', 'tmpfs', point);
  if (mounted.status === 0) return { point };
  rmSync(point, { recursive: true });
  return { why: mounted.stderr.trim() };
};
const disk = mountSmall();

describe.skipIf('why' in disk)('a cluster whose disk is full', () => {
  const point = 'point' in disk ? disk.point : '';
  let cluster: LocalCluster;
  let url: string;
  const call = async (method: string, path: string, body?: object) => {
    const init = body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    const response = await fetch(`${url}${path}`, { method, ...init });
    return { status: response.status, body: (await response.json()) as { readonly [field: string]: unknown } };
  };

  beforeAll(async () => {
    cluster = await LocalCluster.start({ shards: 1, dataFolder: join(point, 'data'), args: ['--context', '512', '--sequences', '2'] });
    url = cluster.shards[0]?.url as string;
    expect((await call('POST', '/_api/collection', { name: 'notes' })).status).toBe(200);
  });
  afterAll(async () => {
    await cluster?.stop();
    run('umount', '-l', point);
    rmSync(point, { recursive: true, force: true });
  });

  it('refuses writes typed and whole, goes on reading and removing, and writes again when there is room', async () => {
    const text = 'x'.repeat(900_000);
    const acknowledged: string[] = [];
    let refused = await call('POST', '/_api/document/notes', { _key: 'n0', text });
    for (let number = 1; refused.status < 300 && number < 200; number++) {
      acknowledged.push(`n${number - 1}`);
      refused = await call('POST', '/_api/document/notes', { _key: `n${number}`, text });
    }
    expect(refused).toMatchObject({ status: 507, body: { error: true, errorNum: 1410, ostrakaCode: 'STORE_FULL' } });
    expect(acknowledged.length).toBeGreaterThan(5);
    const query = (text: string) => call('POST', '/_api/cursor', { query: text });
    const keys = 'FOR d IN notes SORT TO_NUMBER(SUBSTRING(d._key, 1)) RETURN d._key';
    expect((await query(keys)).body['result']).toEqual(acknowledged);
    const lengths = await query('FOR d IN notes RETURN DISTINCT LENGTH(d.text)');
    expect(lengths.body).toMatchObject({ result: [text.length] });
    const chat = { model: 'default', max_tokens: 2, messages: [{ role: 'user', content: 'Hello' }] };
    expect((await call('POST', '/v1/chat/completions', chat)).status).toBe(200);
    expect((await call('DELETE', `/_api/document/notes/${acknowledged[0]}`)).status).toBe(200);
    expect((await query(keys)).body['result']).toEqual(acknowledged.slice(1));
    expect(run('mount', '-o', 'remount,size=192m', point).status).toBe(0);
    const again = await LocalCluster.until(async () => {
      const { status } = await call('POST', '/_api/document/notes', { _key: 'after', text });
      return status < 300 ? status : undefined;
    }, 20_000);
    expect(again).toBeGreaterThanOrEqual(200);
    expect((await query(keys.replace('SORT', 'FILTER d._key != "after" SORT'))).body['result']).toEqual(acknowledged.slice(1));
  });
});
