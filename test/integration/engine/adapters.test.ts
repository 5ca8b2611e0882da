import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AdapterIdentity, type GenerateRequest, plainSampling } from '../../../src/platform/index.js';
import { describeModelFile, readBaseFingerprint } from '../../../src/platform/node/index.js';
import type { AssembledEngine } from '../../../src/shard/index.js';
import { type AdapterContent, encodeAdapter } from '../../../src/training/index.js';
import { toPeftOrder } from '../../support/peftFiles.js';
import { readAdapterTensors } from '../../support/readAdapterTensors.js';
import { openTestEngine } from './openTestEngine.js';
import { testAdapters } from './testAdapters.js';
import { testModels } from './testModels.js';

const { signal } = new AbortController();

describe('adapters that come and go in a running engine (R21)', () => {
  const [first, second] = testAdapters();
  let engine: AssembledEngine;
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'ostraka-broken-adapters-'));
    engine = openTestEngine({ sequences: 4, contextTokens: 256 });
  });
  afterAll(async () => {
    await engine.close(new Error('test is over'));
    rmSync(folder, { recursive: true, force: true });
  });

  const ask = (adapter: AdapterIdentity | undefined, tokensMax = 12): GenerateRequest => ({
    requestId: 'test',
    model: 'default',
    messages: [{ role: 'user', content: 'Who may enter the drive hall of the Halvenmoor ropeway?' }],
    sampling: { ...plainSampling, tokensMax, ignoreEnd: true },
    priority: 'normal',
    ...(adapter && { adapter }),
  });
  const answer = async (request: GenerateRequest, onAdmitted = (): void => undefined): Promise<string> => {
    let text = '';
    for await (const event of engine.generate(request, signal)) {
      if (event.kind === 'admitted') onAdmitted();
      if (event.kind === 'text') text += event.text;
    }
    return text;
  };
  const load = (path: string, scale = 1) => engine.loadAdapter({ path, scale }, signal);

  it('answers unlike the base model with an adapter, and the same once it was unloaded and loaded again; no rows are left of it', async () => {
    const base = await answer(ask(undefined));
    const adapter = await load(first);
    const adapted = await answer(ask(adapter));
    expect(adapted).not.toBe(base);
    await engine.unloadAdapter(adapter, signal);
    await expect(answer(ask(adapter))).rejects.toMatchObject({ code: 'ADAPTER_UNKNOWN' });
    expect(await answer(ask(undefined))).toBe(base);
    await load(first);
    expect(await answer(ask(adapter))).toBe(adapted);
    await engine.unloadAdapter(adapter, signal);
  });

  it('gives two scales of a file and the base model beside each other the texts of each alone', async () => {
    const adapters = [undefined, await load(first), await load(first, 0.25)];
    const alone: string[] = [];
    for (const adapter of adapters) alone.push(await answer(ask(adapter)));
    expect(new Set(alone).size).toBe(3);
    expect(await Promise.all([...adapters, ...adapters].map((adapter) => answer(ask(adapter))))).toEqual([...alone, ...alone]);
    const [, whole, weak] = adapters as [undefined, AdapterIdentity, AdapterIdentity];
    const running = answer(ask(weak));
    await engine.unloadAdapter(whole, signal);
    expect(engine.adapters()).toEqual([weak]);
    expect([await running, await answer(ask(undefined))]).toEqual([alone[2], alone[0]]);
    await engine.unloadAdapter(weak, signal);
  });

  it('ends what an adapter computes beyond all numbers with an error of its own, and leaves nothing of it to others', async () => {
    const long = (request: GenerateRequest, times: number): GenerateRequest => ({
      ...request,
      messages: request.messages.map((message) => ({ ...message, content: `${message.content} `.repeat(times) })),
    });
    const base = (times: number) => long(ask(undefined, 8), times);
    const alone = [await answer(base(3)), await answer(base(5))];
    const beyond = await load(first, 1e6);
    const refused = Array.from({ length: 4 }, () =>
      expect(answer(long(ask(beyond), 10))).rejects.toMatchObject({ code: 'ENGINE_STEP_FAILED' }),
    );
    const beside = [answer(base(3)), answer(base(5))];
    await Promise.all(refused);
    expect(await Promise.all(beside)).toEqual(alone);
    expect(await Promise.all([3, 5, 3, 5].map((times) => answer(base(times))))).toEqual([...alone, ...alone]);
    await engine.unloadAdapter(beyond, signal);
  });

  it('lets running requests end before it frees, and refuses to load what is being unloaded', async () => {
    const adapter = await load(first);
    const expected = await answer(ask(adapter, 40));
    const ended: string[] = [];
    const running: Promise<unknown>[] = [];
    await Promise.all(
      [0, 1, 2].map(
        () =>
          new Promise<void>((admitted) => {
            running.push(answer(ask(adapter, 40), admitted).then((text) => ended.push(text)));
          }),
      ),
    );
    const unloaded = engine.unloadAdapter(adapter, signal).then(() => ended.length);
    await expect(answer(ask(adapter))).rejects.toMatchObject({ code: 'ADAPTER_UNKNOWN' });
    await expect(load(first)).rejects.toMatchObject({ code: 'ADAPTER_IN_USE', retryable: true });
    await Promise.all(running);
    await unloaded;
    expect(ended).toEqual([expected, expected, expected]);
    expect(engine.adapters()).toEqual([]);
  });

  it('survives 20 loads and unloads under chat: no error, nothing left', { timeout: 180_000 }, async () => {
    const base = await answer(ask(undefined));
    let isOver = false;
    const chat = async (): Promise<number> => {
      let answers = 0;
      for (; !isOver; answers++) expect(await answer(ask(undefined))).toBe(base);
      return answers;
    };
    const chats = Promise.all([chat(), chat()]);
    const texts = new Set<string>();
    try {
      for (let cycle = 0; cycle < 20; cycle++) {
        const adapter = await load(cycle % 2 === 0 ? first : second);
        texts.add(await answer(ask(adapter, 4)));
        expect(engine.adapters()).toHaveLength(1);
        await engine.unloadAdapter(adapter, signal);
        expect(engine.adapters()).toEqual([]);
      }
    } finally {
      isOver = true;
    }
    expect(Math.min(...(await chats))).toBeGreaterThan(0);
    expect(texts.size).toBeLessThanOrEqual(2);
  });

  it('refuses what fits by its shapes alone: made for another model, or with the rows of PEFT', async () => {
    const { chat } = testModels();
    const tensors = readAdapterTensors(first);
    const rank = tensors[0]?.rows as number;
    const write = (name: string, content: Partial<AdapterContent>): string => {
      const path = join(folder, `${name}.gguf`);
      const whole = { domain: 'test', baseDigest: chat.digest, rank, alpha: 2 * rank, tensors, ...content };
      writeFileSync(path, encodeAdapter(whole));
      return path;
    };
    const fits: readonly [string, Partial<AdapterContent>][] = [
      ['same', {}],
      ['another quantisation', { baseDigest: 'a'.repeat(64), baseFingerprint: readBaseFingerprint(chat.path) }],
      [
        'not trained',
        { tensors: tensors.map((one) => (one.name.endsWith('b') ? { ...one, values: new Float32Array(one.values.length) } : one)) },
      ],
    ];
    for (const [name, content] of fits) await engine.unloadAdapter(await load(write(name, content)), signal);
    const { shape } = describeModelFile(chat.path);
    const wrong: readonly [string, Partial<AdapterContent>, RegExp][] = [
      ['another model', { baseDigest: 'a'.repeat(64) }, /made for another model, of SHA-256 a+; the one that is served has/],
      ['another training', { baseDigest: 'a'.repeat(64), baseFingerprint: 'b'.repeat(64) }, /made for another model/],
      ['rows of PEFT', { tensors: toPeftOrder(tensors, shape), rowOrder: 'peft' }, /order "peft".*adapter import/],
    ];
    const base = await answer(ask(undefined));
    for (const [name, content, message] of wrong)
      await expect(load(write(name, content)), name).rejects.toMatchObject({
        code: 'ADAPTER_INVALID',
        message: expect.stringMatching(message),
      });
    expect([engine.adapters(), await answer(ask(undefined))]).toEqual([[], base]);
  });

  it('refuses broken copies with ADAPTER_INVALID, and serves what is loaded as before', async () => {
    const whole = readFileSync(first);
    const adapter = await load(first);
    const before = await answer(ask(adapter));
    const changed = (at: number, bytes: Buffer): Buffer => {
      const copy = Buffer.from(whole);
      bytes.copy(copy, at);
      return copy;
    };
    const typeAt = whole.indexOf('adapter.lora.alpha') + 'adapter.lora.alpha'.length;
    const tensorAt = whole.indexOf('.weight.lora_a') + '.weight.lora_a'.length; // the number of dimensions, then each
    const width = whole.readBigUInt64LE(tensorAt + 4);
    const narrow = Buffer.alloc(8);
    narrow.writeBigUInt64LE(width / 2n);
    const copies: [string, Uint8Array][] = [
      ['empty', Buffer.alloc(0)],
      ['no GGUF', Buffer.from('a text that is no adapter at all, but long enough')],
      ['truncated', whole.subarray(0, whole.length - 512)],
      ['half', whole.subarray(0, whole.length >> 1)],
      ['another architecture', changed(whole.indexOf('llama'), Buffer.from('qwen2'))],
      ['another shape', changed(tensorAt + 4, narrow)],
      ['another name of a tensor', changed(whole.indexOf('blk.0.'), Buffer.from('blk.x.'))],
      ['another type of alpha', changed(typeAt, Buffer.from([5, 0, 0, 0]))],
      ['another kind of adapter', changed(whole.indexOf('lora', whole.indexOf('adapter.type')), Buffer.from('dora'))],
    ];
    const reasons = new Map([
      ['truncated', /the file is truncated/],
      ['another architecture', /not a LoRA adapter of this model/],
    ]);
    for (const [name, bytes] of copies) {
      const path = join(folder, 'broken.gguf');
      writeFileSync(path, bytes);
      const message = expect.stringMatching(reasons.get(name) ?? /./);
      await expect(load(path), name).rejects.toMatchObject({ code: 'ADAPTER_INVALID', message });
    }
    await expect(load(join(folder, 'missing.gguf'))).rejects.toMatchObject({ code: 'ADAPTER_INVALID' });
    await expect(load(testModels().chat.path)).rejects.toMatchObject({
      code: 'ADAPTER_INVALID',
      message: expect.stringMatching(/no adapter/),
    });
    expect(engine.adapters()).toHaveLength(1);
    expect(await answer(ask(adapter))).toBe(before);
  });
});
