import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { encodeSketch, sketchAdapter, sketchModel } from '../../test/support/GgufSketch.js';
import { type HubRepository, type HubScript, HubServer } from '../../test/support/HubServer.js';
import { sha256Hex } from '../base/index.js';
import { type HubModel, HubPuller } from '../models/index.js';
import { HubClient, type HubLimits } from '../platform/node/index.js';
import { HubModelStore } from './HubModelStore.js';

const bytes = encodeSketch(sketchModel());
const other = Buffer.from(bytes).fill(1, bytes.length - 32);
const commitOf = (digit: string): string => digit.repeat(40);
const half = Math.floor(bytes.length / 2);

const limits: HubLimits = {
  redirectsMax: 3,
  answerMsMax: 10_000,
  answerBytesMax: 65_536,
  attemptsMax: 3,
  retryDelayMs: 1,
  progressMs: 10_000,
  progressBytesMin: 64,
  reserveBytes: 0,
};

const fromOf = (range: string | undefined): number => Number(/\d+/.exec(range ?? '0')?.[0]);

describe('a model from a hub (R18)', () => {
  let folder: string;
  let hub: HubServer;
  let repository: HubRepository;
  let freeBytes: number;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'ostraka-hub-'));
    hub = await HubServer.start();
    repository = { commit: commitOf('a'), files: { 'README.md': Buffer.from('hello'), 'small.gguf': bytes } };
    hub.repositories.set('owner/repo', repository);
    freeBytes = 1e9;
    reached.length = 0;
  });
  afterEach(async () => {
    await hub.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Calls back when so much has come and is written. What a connection still holds when it ends is lost, and comes again. */
  const reached: { readonly done: number; readonly call: () => void }[] = [];
  const onDone = (done: number): void => {
    for (const one of reached.filter((each) => each.done <= done)) {
      reached.splice(reached.indexOf(one), 1);
      one.call();
    }
  };
  const arrived = (done: number): Promise<void> => new Promise((resolve) => reached.push({ done, call: resolve }));

  /** So many bytes, and when they have come the connection ends. */
  const sendAndCut = (response: ServerResponse, content: Buffer, from: number, count: number): void => {
    const range = from === 0 ? {} : { 'content-range': `bytes ${from}-${content.length - 1}/${content.length}` };
    response.writeHead(from === 0 ? 200 : 206, { 'content-length': content.length - from, ...range });
    response.flushHeaders();
    if (count === 0) response.socket?.end();
    else void arrived(from + count).then(() => response.socket?.end());
    if (count > 0) response.write(content.subarray(from, from + count));
  };

  const store = () => new HubModelStore({ folder, freeBytes: async () => freeBytes });
  const pull = (
    name = 'hf:owner/repo',
    given: {
      readonly overwrite?: boolean;
      readonly signal?: AbortSignal;
      readonly limits?: Partial<HubLimits>;
      readonly token?: string;
    } = {},
  ): Promise<HubModel> => {
    const client = new HubClient({ endpoint: new URL(hub.url), token: given.token }, { ...limits, ...given.limits });
    const { overwrite = false, signal = new AbortController().signal } = given;
    const beforeReplacing = async (): Promise<void> => undefined;
    return new HubPuller({ hub: client, cache: store() }).pull({
      name,
      overwrite,
      signal,
      beforeReplacing,
      onProgress: ({ phase, done }) => phase === 'download' && onDone(done),
    });
  };
  const script = (of: 'hub' | 'store', answer: HubScript): void => {
    hub.script = (asked, response, content) => asked.of === of && asked.path.includes('/resolve/') && answer(asked, response, content);
  };
  const downloads = () => hub.asked.filter(({ of, method }) => of === 'store' && method === 'GET');
  const filesOf = (): readonly string[] =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => /\.gguf$|partial/.test(name));
  const pathOf = ({ fileName }: HubModel): string => join(folder, fileName);

  it('is fetched through a redirect, checked, recorded with its digest, and not fetched again while it is the same', async () => {
    const model = await pull();
    expect(model).toMatchObject({ name: 'hf:owner/repo/small.gguf', kind: 'chat', digest: sha256Hex(bytes), commit: commitOf('a') });
    expect(readFileSync(pathOf(model)).equals(bytes)).toBe(true);
    repository.commit = commitOf('b');
    expect(await pull('hf:owner/repo/small.gguf')).toEqual({ ...model, commit: commitOf('b') });
    expect(await store().fetched()).toEqual([{ ...model, commit: commitOf('b') }]);
    expect(downloads()).toHaveLength(1);
  });

  it('shows the token to the hub alone, never to where it redirects', async () => {
    await pull('hf:owner/repo', { token: 'secret' });
    const tokens = (of: string) => new Set(hub.asked.filter((one) => one.of === of).map(({ authorization }) => authorization));
    expect([...tokens('hub')]).toEqual(['Bearer secret']);
    expect([...tokens('store')]).toEqual([undefined]);
  });

  it('a download that is cut goes on where it was', async () => {
    let cuts = 0;
    script('store', ({ range }, response, content) => {
      if (cuts++ >= 2) return false;
      sendAndCut(response, content as Buffer, fromOf(range), 1000);
      return true;
    });
    const model = await pull();
    expect(downloads().map(({ range }) => range)).toEqual([undefined, 'bytes=1000-', 'bytes=2000-']);
    expect(readFileSync(pathOf(model)).equals(bytes)).toBe(true);
  });

  it('one that was given up goes on in a later pull', async () => {
    script('store', ({ range }, response, content) => {
      sendAndCut(response, content as Buffer, fromOf(range), range === undefined ? half : 0);
      return true;
    });
    await expect(pull()).rejects.toMatchObject({ code: 'MODEL_FETCH_FAILED', retryable: true });
    hub.script = () => false;
    hub.asked.length = 0;
    expect((await pull()).digest).toBe(sha256Hex(bytes));
    expect(downloads().map(({ range }) => range)).toEqual([`bytes=${half}-`]);
  });

  it('starts anew where the server sends the whole file again, or another part', async () => {
    let requests = 0;
    script('store', (_, response, content) => {
      if (requests++ === 0) sendAndCut(response, content as Buffer, 0, half);
      else response.writeHead(200, { 'content-length': bytes.length }).end(bytes);
      return true;
    });
    expect((await pull()).digest).toBe(sha256Hex(bytes));
    rmSync(folder, { recursive: true });
    requests = 0;
    script('store', (_, response, content) => {
      if (requests++ === 0) sendAndCut(response, content as Buffer, 0, half);
      else sendAndCut(response, content as Buffer, half + 1, 10);
      return true;
    });
    await expect(pull()).rejects.toMatchObject({ code: 'MODEL_FETCH_FAILED' });
  });

  it('a damaged beginning from an earlier pull costs one more download, not the model', async () => {
    script('store', (_, response, content) => {
      sendAndCut(response, content as Buffer, 0, half);
      return true;
    });
    await expect(pull('hf:owner/repo', { limits: { attemptsMax: 1 } })).rejects.toMatchObject({ code: 'MODEL_FETCH_FAILED' });
    const [part] = filesOf() as [string];
    writeFileSync(join(folder, part), Buffer.concat([bytes.subarray(0, half - 8), Buffer.alloc(8)]));
    hub.script = () => false;
    expect((await pull()).digest).toBe(sha256Hex(bytes));
  });

  it('refuses bytes with another digest than the hub tells, and keeps nothing of them', async () => {
    repository.digest = 'f'.repeat(64);
    await expect(pull()).rejects.toMatchObject({ code: 'MODEL_INVALID', message: expect.stringContaining(sha256Hex(bytes)) });
    expect([filesOf(), await store().fetched()]).toEqual([[], []]);
  });

  it.each(['told by the hub', 'seen when they have come'])(
    'refuses other bytes behind the same name, %s, and takes them by force',
    async (how) => {
      if (how !== 'told by the hub') repository.digest = '';
      const model = await pull();
      repository.files['small.gguf'] = other;
      repository.commit = commitOf('b');
      await expect(pull()).rejects.toMatchObject({ code: 'MODEL_CHANGED', data: { recorded: sha256Hex(bytes), found: sha256Hex(other) } });
      expect(downloads()).toHaveLength(how === 'told by the hub' ? 1 : 2);
      expect(readFileSync(pathOf(model)).equals(bytes)).toBe(true);
      expect(filesOf()).toHaveLength(1);
      expect((await pull('hf:owner/repo', { overwrite: true })).digest).toBe(sha256Hex(other));
      expect((await store().fetched()).map(({ digest }) => digest)).toEqual([sha256Hex(other)]);
    },
  );

  it('fetches a damaged file again, and holds it to the record', async () => {
    const model = await pull();
    writeFileSync(pathOf(model), 'cut');
    expect(await pull()).toEqual(model);
    expect(readFileSync(pathOf(model)).equals(bytes)).toBe(true);
  });

  it.each<[string, string, (response: ServerResponse) => void]>([
    ['a page', 'MODEL_FETCH_FAILED', (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>log in</html>')],
    ['something else than a GGUF file', 'MODEL_INVALID', (response) => response.writeHead(200).end('{"error": "no"}')],
    ['a cut GGUF file as if it were whole', 'MODEL_INVALID', (response) => response.writeHead(200).end(bytes.subarray(0, half))],
    ['an adapter', 'MODEL_INVALID', (response) => response.writeHead(200).end(encodeSketch(sketchAdapter()))],
  ])('refuses %s', async (_, code, answer) => {
    repository.digest = '';
    script('store', (__, response) => {
      answer(response);
      return true;
    });
    await expect(pull()).rejects.toMatchObject({ code });
    expect([filesOf().filter((name) => name.endsWith('.gguf')), await store().fetched()]).toEqual([[], []]);
  });

  it.each([
    [401, 'MODEL_ACCESS_REFUSED'],
    [403, 'MODEL_ACCESS_REFUSED'],
    [404, 'MODEL_UNKNOWN'],
    [418, 'MODEL_FETCH_FAILED'],
  ])('a hub that answers %d is told as %s, at once, wherever it does so', async (status, code) => {
    hub.script = (asked, response) => asked.of === 'hub' && Boolean(response.writeHead(status).end());
    await expect(pull()).rejects.toMatchObject({ code });
    expect(hub.asked).toHaveLength(1);
    script('store', (_, response) => Boolean(response.writeHead(status).end()));
    await expect(pull()).rejects.toMatchObject({ code });
    expect(downloads()).toHaveLength(1);
  });

  it('tries a hub that is overloaded again, a few times', async () => {
    script('store', (_, response) => Boolean(response.writeHead(503).end()));
    await expect(pull()).rejects.toMatchObject({ code: 'MODEL_FETCH_FAILED', message: expect.stringContaining('503') });
    expect(downloads()).toHaveLength(limits.attemptsMax);
  });

  it.each(['says nothing', 'sends a byte now and then, for ever'])('gives up a server that %s', async (how) => {
    const timers: NodeJS.Timeout[] = [];
    script('store', (_, response) => {
      response.writeHead(200, { 'content-length': bytes.length });
      response.flushHeaders();
      let sent = 0;
      const drip = (): void => void response.write(bytes.subarray(sent, ++sent));
      if (how !== 'says nothing') timers.push(setInterval(drip, 10));
      return true;
    });
    try {
      await expect(pull('hf:owner/repo', { limits: { progressMs: 60 } })).rejects.toMatchObject({
        code: 'MODEL_FETCH_FAILED',
        message: expect.stringContaining('sent less than 64 bytes'),
      });
      expect(downloads()).toHaveLength(limits.attemptsMax);
    } finally {
      for (const timer of timers) clearInterval(timer);
    }
  });

  it('gives up a hub that does not answer a question', async () => {
    hub.script = () => true;
    await expect(pull('hf:owner/repo', { limits: { answerMsMax: 50 } })).rejects.toMatchObject({
      code: 'MODEL_FETCH_FAILED',
      message: expect.stringContaining('no answer'),
    });
  });

  it('refuses what does not fit on the disk before a byte of it is written', async () => {
    freeBytes = bytes.length - 1;
    await expect(pull()).rejects.toMatchObject({ code: 'STORE_FULL', data: { neededBytes: bytes.length, freeBytes: bytes.length - 1 } });
    expect(filesOf()).toEqual([]);
  });

  it('ends a file that never ends where the disk does', async () => {
    freeBytes = 100_000;
    script('store', (_, response) => {
      response.writeHead(200);
      const chunk = Buffer.concat([Buffer.from('GGUF'), Buffer.alloc(10_000)]);
      const more = (): void => void (response.writable && response.write(chunk, more));
      more();
      return true;
    });
    await expect(pull()).rejects.toMatchObject({ code: 'STORE_FULL' });
  });

  it('follows a bounded number of redirects, and none away from the web', async () => {
    script('hub', (asked, response) => Boolean(response.writeHead(302, { location: asked.path }).end()));
    await expect(pull()).rejects.toMatchObject({ code: 'MODEL_FETCH_FAILED', message: expect.stringContaining('more than 3 times') });
    script('hub', (_, response) => Boolean(response.writeHead(302, { location: 'file:///etc/passwd' }).end()));
    await expect(pull()).rejects.toMatchObject({ code: 'MODEL_FETCH_FAILED', message: expect.stringContaining('not taken') });
  });

  it('names what can be chosen where a repository has several files, and takes the one that is named', async () => {
    repository.files['sub/large.gguf'] = other;
    repository.files['huge-00001-of-00002.gguf'] = other;
    await expect(pull()).rejects.toMatchObject({
      code: 'MODEL_FILE_UNCLEAR',
      message: expect.stringContaining('hf:owner/repo/small.gguf, hf:owner/repo/sub/large.gguf'),
      data: { files: ['small.gguf', 'sub/large.gguf'] },
    });
    await expect(pull('hf:owner/repo/none.gguf')).rejects.toMatchObject({ code: 'MODEL_FILE_UNCLEAR' });
    await expect(pull('hf:owner/repo/huge-00001-of-00002.gguf')).rejects.toMatchObject({
      message: expect.stringContaining('several files'),
    });
    expect((await pull('hf:owner/repo/sub/large.gguf@main')).digest).toBe(sha256Hex(other));
    repository.files = { 'model.bin': bytes };
    await expect(pull()).rejects.toMatchObject({ code: 'MODEL_FILE_UNCLEAR', message: expect.stringContaining('no GGUF file') });
  });

  it('ends when it is told to, keeps what has come, and lets no two pull the same at once', async () => {
    const stop = new AbortController();
    script('store', (_, response) => {
      response.writeHead(200, { 'content-length': bytes.length });
      response.write(bytes.subarray(0, half));
      return true;
    });
    const sending = arrived(half);
    const first = pull('hf:owner/repo', { signal: stop.signal });
    await sending;
    await expect(pull()).rejects.toMatchObject({ code: 'MODEL_IN_USE' });
    stop.abort();
    await expect(first).rejects.toMatchObject({ code: 'CANCELLED' });
    expect(filesOf()).toEqual([expect.stringContaining('partial-')]);
    hub.script = () => false;
    expect((await pull()).digest).toBe(sha256Hex(bytes));
    expect(filesOf()).toHaveLength(1);
    expect(existsSync(join(folder, (filesOf() as [string])[0]))).toBe(true);
  });
});
