import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { EventLog } from '../../test/support/silentPorts.js';
import { concatBytes, utf8 } from '../base/index.js';
import type { HubModel } from './HubModel.js';
import { type HubCache, HubPuller } from './HubPuller.js';
import type { ImportedModel } from './KnownModel.js';
import { type ModelCache, ModelRegistry } from './ModelRegistry.js';
import type { PinnedModel } from './PinnedModel.js';
import { readSafetensors } from './readSafetensors.js';
import { toHalf } from './toHalf.js';

describe('ModelRegistry', () => {
  const model: PinnedModel = {
    name: 'tiny',
    kind: 'chat',
    fileName: 'tiny.gguf',
    digest: 'good',
    bytes: 4,
    figures: {
      embeddingLength: 1,
      feedForwardLength: 1,
      kvBytesPerToken: 1,
      vocabulary: 1,
      heads: 1,
      contextTokensMax: 1,
      isEncoder: false,
    },
    source: { name: 'p', version: '1', digest: 'd', bytes: 1, licence: 'MIT' },
    make: { kind: 'requantize-q8_0', member: 'm' },
  };
  const noHubCache = {} as HubCache; // nothing of it is asked where there is no hub
  /** Files are their digests. */
  class MapCache implements ModelCache {
    readonly files = new Map<string, string>();
    readonly records = new Map<string, ImportedModel>();
    inUse: number[] = [];
    makes = 'good';
    made = 0;
    pathOf = ({ fileName }: { fileName: string }) => fileName;
    exists = async (path: string) => this.files.has(path);
    digest = async (path: string) => this.files.get(path) as string;
    make = async ({ fileName }: PinnedModel) => {
      this.made++;
      this.files.set(fileName, this.makes);
      return fileName;
    };
    imported = async () => [...this.records.values()];
    hubModels: HubModel[] = [];
    fetched = async () => this.hubModels;
    keep = async ({ from, name }: { from: string; name: string }) => {
      const model = { name, kind: 'chat' as const, digest: from, bytes: 1 };
      this.files.set(`${name}.gguf`, from);
      this.records.set(name, model);
      return model;
    };
    remove = async ({ path, name }: { path: string; name: string }) => {
      this.files.delete(path);
      this.records.delete(name);
    };
    users = async () => this.inUse;
  }
  let cache: MapCache;
  let logger: EventLog;
  let registry: ModelRegistry;
  beforeEach(() => {
    [cache, logger] = [new MapCache(), new EventLog()];
    registry = new ModelRegistry({ models: [model], cache, hub: new HubPuller({ hub: undefined, cache: noHubCache }), logger });
  });
  const ensure = (name = 'default') =>
    registry.ensure({ name, kind: 'chat', signal: new AbortController().signal, onProgress: () => undefined });

  it('makes a missing file once and takes a good one as it is', async () => {
    for (let i = 0; i < 2; i++) expect(await ensure()).toEqual({ name: 'tiny', path: 'tiny.gguf', digest: 'good' });
    expect([cache.made, logger.events]).toEqual([1, []]);
    expect((await registry.list()).map(({ path }) => path)).toEqual(['tiny.gguf']);
  });

  it('makes a damaged file again and says so', async () => {
    cache.files.set('tiny.gguf', 'cut');
    expect((await ensure('tiny')).digest).toBe('good');
    expect([cache.made, logger.events.map(({ event }) => event)]).toEqual([1, ['model.damaged']]);
  });

  it('refuses a file that was made wrong and leaves none behind', async () => {
    cache.makes = 'other';
    await expect(ensure()).rejects.toMatchObject({ code: 'MODEL_INVALID' });
    expect(cache.files.size).toBe(0);
  });

  it('knows no other names', async () => {
    await expect(ensure('huge')).rejects.toMatchObject({ code: 'MODEL_UNKNOWN', message: expect.stringContaining('tiny') });
    await expect(registry.remove('huge')).rejects.toMatchObject({ code: 'MODEL_UNKNOWN' });
    await expect(registry.verify('huge')).rejects.toMatchObject({ code: 'MODEL_UNKNOWN' });
  });

  const bring = (name: string, from = 'mine', overwrite = false) =>
    registry.import({ from, name, overwrite, signal: new AbortController().signal, onProgress: () => undefined });

  it('serves an imported model by its name, never as the default, and refuses it once it is damaged or gone', async () => {
    expect(await bring('own')).toMatchObject({ name: 'own', origin: 'imported', digest: 'mine', licence: null, isThere: true });
    expect(await ensure('own')).toEqual({ name: 'own', path: 'own.gguf', digest: 'mine' });
    expect((await ensure()).name).toBe('tiny');
    cache.files.set('own.gguf', 'cut');
    await expect(ensure('own')).rejects.toMatchObject({
      code: 'MODEL_INVALID',
      message: expect.stringContaining('import FILE --name own'),
    });
    cache.files.delete('own.gguf');
    await expect(ensure('own')).rejects.toMatchObject({ code: 'MODEL_INVALID', message: expect.stringContaining('gone') });
  });

  it('replaces an imported model only when told to', async () => {
    await bring('own');
    await expect(bring('own', 'other')).rejects.toMatchObject({ code: 'MODEL_EXISTS' });
    expect((await bring('own', 'other', true)).digest).toBe('other');
  });

  it.each(['', 'default', 'tiny', 'Own', '../own', 'a/b', '-own', '.own', 'own.gguf', 'ö', 'x'.repeat(65)])(
    'refuses the name %j for an imported model',
    async (name) => {
      await expect(bring(name, 'mine', true)).rejects.toMatchObject({ code: 'MODEL_NAME_INVALID' });
      expect(cache.records.size).toBe(0);
    },
  );

  it('neither removes nor replaces a model that a running cluster uses', async () => {
    await bring('own');
    cache.inUse = [7];
    await expect(registry.remove('own')).rejects.toMatchObject({ code: 'MODEL_IN_USE', data: { pids: [7] } });
    await expect(bring('own', 'other', true)).rejects.toMatchObject({ code: 'MODEL_IN_USE' });
    cache.inUse = [];
    expect((await registry.remove('own')).path).toBe('own.gguf');
    expect([cache.files.size, cache.records.size]).toEqual([0, 0]);
  });

  it('a model of a hub that is here is taken without asking the hub, also by its repository alone; another one needs a hub', async () => {
    const name = 'hf:owner/repo/small.gguf@v1';
    cache.hubModels = [{ name, kind: 'chat', digest: 'h', bytes: 1, commit: 'c', fileName: 'x/small.gguf' }];
    cache.files.set('x/small.gguf', 'h');
    for (const asked of [name, 'hf:owner/repo@v1'])
      expect(await ensure(asked)).toEqual({ name: 'small', path: 'x/small.gguf', digest: 'h' });
    expect(await registry.find('hf:owner/repo@v1')).toMatchObject({ name, origin: 'hub', commit: 'c', isThere: true });
    await expect(registry.find('hf:owner/repo')).rejects.toMatchObject({
      code: 'MODEL_UNKNOWN',
      message: expect.stringContaining('model pull'),
    });
    await expect(ensure('hf:owner/repo')).rejects.toMatchObject({ code: 'HUB_UNKNOWN', message: expect.stringContaining('HF_ENDPOINT') });
    cache.files.set('x/small.gguf', 'cut');
    await expect(ensure(name)).rejects.toMatchObject({ code: 'HUB_UNKNOWN' });
    expect(await registry.verify(name)).toMatchObject([{ state: 'damaged', advice: expect.stringContaining(`pull ${name}`) }]);
  });

  it('verifies all files or one, and says of each that is not well what to do', async () => {
    await bring('own');
    await ensure();
    expect((await registry.verify(undefined)).map(({ name, state, advice }) => [name, state, advice])).toEqual([
      ['tiny', 'whole', ''],
      ['own', 'whole', ''],
    ]);
    cache.files.set('own.gguf', 'cut');
    cache.files.delete('tiny.gguf');
    expect((await registry.verify(undefined)).map(({ state }) => state)).toEqual(['absent', 'damaged']);
    expect(await registry.verify('own')).toMatchObject([{ state: 'damaged', advice: expect.stringContaining('--name own --force') }]);
  });
});

describe('toHalf', () => {
  const fromHalf = (bits: number): number => {
    const [sign, exponent, fraction] = [bits & 0x8000 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
    if (exponent === 31) return fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY;
    return sign * (exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25));
  };

  it.each([
    [0, 0x0000],
    [-0, 0x8000],
    [1, 0x3c00],
    [-2, 0xc000],
    [65504, 0x7bff],
    [65519.99, 0x7bff],
    [65520, 0x7c00],
    [Number.POSITIVE_INFINITY, 0x7c00],
    [Number.NEGATIVE_INFINITY, 0xfc00],
    [Number.NaN, 0x7e00],
    [2 ** -14, 0x0400],
    [2 ** -24, 0x0001],
    [2 ** -25, 0x0000],
    [3 * 2 ** -25, 0x0002],
    [1 + 2 ** -11, 0x3c00],
    [1 + 3 * 2 ** -11, 0x3c02],
    [1 / 3, 0x3555],
  ])('%d is 0x%s', (value, bits) => {
    expect(toHalf(value)).toBe(bits);
  });

  it('gives every half-precision number its own bits', () => {
    for (let bits = 0; bits < 0x10000; bits++) {
      const value = fromHalf(bits);
      if (!Number.isNaN(value)) expect(toHalf(value)).toBe(bits);
    }
  });

  it('gives the nearest, and of two as near the even one', () => {
    fc.assert(
      fc.property(fc.float({ min: -65504, max: 65504, noNaN: true }), (value) => {
        const bits = toHalf(value);
        const distance = Math.abs(fromHalf(bits) - value);
        for (const other of [bits - 1, bits + 1]) {
          const difference = Math.abs(fromHalf(other & 0xffff) - value);
          if (Number.isNaN(difference) || (other & 0x8000) !== (bits & 0x8000)) continue;
          expect(distance < difference || (distance === difference && bits % 2 === 0)).toBe(true);
        }
      }),
    );
  });
});

describe('readSafetensors', () => {
  const fileOf = (header: unknown, data: Uint8Array, headerBytes?: bigint): Uint8Array => {
    const text = utf8.encode(typeof header === 'string' ? header : JSON.stringify(header));
    const size = new Uint8Array(8);
    new DataView(size.buffer).setBigUint64(0, headerBytes ?? BigInt(text.length), true);
    return concatBytes([size, text, data]);
  };
  const floats = (...values: number[]): Uint8Array => new Uint8Array(Float32Array.from(values).buffer);
  const tensor = (shape: unknown, offsets: unknown, dtype = 'F32') => ({ dtype, shape, data_offsets: offsets });
  const data = floats(1, 2, 3, 4, 5, 6);

  it('names its tensors and reads each, from any alignment', () => {
    const header = { __metadata__: { format: 'pt' }, a: tensor([2, 2], [0, 16]), b: tensor([2], [16, 24]), pad: tensor([0], [0, 0]) };
    const file = readSafetensors(Buffer.from(fileOf(header, data)));
    expect(file.names).toEqual(['a', 'b', 'pad']);
    expect(file.read('a')).toEqual({ shape: [2, 2], values: Float32Array.of(1, 2, 3, 4) });
    expect(file.read('b').values).toEqual(Float32Array.of(5, 6));
    expect(file.read('pad').values).toHaveLength(0);
  });

  it('widens every 16-bit number exactly, and bfloat16', () => {
    const all = Uint16Array.from({ length: 0x10000 }, (_, bits) => bits);
    const file = readSafetensors(fileOf({ a: tensor([0x10000], [0, 0x20000], 'F16') }, new Uint8Array(all.buffer)));
    const { values } = file.read('a');
    const wrong = all.filter((bits) => {
      const isNumber = ((bits >> 10) & 31) !== 31 || (bits & 1023) === 0;
      return isNumber ? toHalf(values[bits] as number) !== bits : !Number.isNaN(values[bits]);
    });
    expect(Array.from(wrong)).toEqual([]);
    const brain = readSafetensors(fileOf({ a: tensor([2], [0, 4], 'BF16') }, new Uint8Array(Uint16Array.of(0x3f80, 0xc000).buffer)));
    expect(brain.read('a').values).toEqual(Float32Array.of(1, -2));
  });

  it.each<[string, Uint8Array]>([
    ['an empty file', new Uint8Array(0)],
    ['a header longer than the file', fileOf({}, data, 10_000n)],
    ['a header of 2^63 bytes', fileOf({}, data, 2n ** 63n)],
    ['a header that is not JSON', fileOf('{"a":', data)],
    ['a header that is no object', fileOf('null', data)],
    ['a tensor beyond the end', fileOf({ a: tensor([8], [0, 32]) }, data)],
    ['a tensor before the start', fileOf({ a: tensor([2], [-4, 4]) }, data)],
    ['a size that is not its shape', fileOf({ a: tensor([3], [0, 16]) }, data)],
    ['a negative shape', fileOf({ a: tensor([-1, -2], [0, 8]) }, data)],
    ['a fractional offset', fileOf({ a: tensor([1], [0.5, 4.5]) }, data)],
    ['offsets that are no pair', fileOf({ a: tensor([1], null) }, data)],
    ['a shape that is no list', fileOf({ a: tensor('x', [0, 4]) }, data)],
    ['another type', fileOf({ a: tensor([1], [0, 4], 'I32') }, data)],
    ['a type that every object knows', fileOf({ a: tensor([1], [0, 4], 'constructor') }, data)],
    ['no such tensor', fileOf({ constructor: tensor([1], [0, 4]) }, data)],
  ])('refuses %s as MODEL_INVALID', (_, file) => {
    expect(() => readSafetensors(file).read('a')).toThrow(expect.objectContaining({ code: 'MODEL_INVALID' }));
  });

  it('any bytes are refused as MODEL_INVALID or give no such tensor', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), fc.json(), (bytes, header) => {
        for (const file of [bytes, fileOf(header, bytes)])
          expect(() => readSafetensors(file).read('a')).toThrow(expect.objectContaining({ code: 'MODEL_INVALID' }));
      }),
    );
  });
});
