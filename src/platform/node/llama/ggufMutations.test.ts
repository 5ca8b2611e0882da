import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  encodeSketch,
  entryOf,
  type GgufSketch,
  type SketchedEntry,
  type SketchedTensor,
  sketchAdapter,
  sketchModel,
} from '../../../../test/support/GgufSketch.js';
import { platformError } from '../../index.js';
import { checkModelFile } from './checkModelFile.js';
import { ggufLimits } from './ggufLimits.js';

type Mutation = (sketch: GgufSketch) => GgufSketch | Buffer;

const head =
  (change: Partial<GgufSketch>): Mutation =>
  (sketch) => ({ ...sketch, ...change });
const without =
  (key: string): Mutation =>
  (sketch) => ({ ...sketch, entries: sketch.entries.filter((entry) => entry.key !== key) });
/** In the place of the entry of the same name, or behind the last. */
const put =
  (entry: SketchedEntry): Mutation =>
  (sketch) => ({ ...sketch, entries: [...sketch.entries.filter(({ key }) => key !== entry.key), entry] });
const add =
  (entry: SketchedEntry): Mutation =>
  (sketch) => ({ ...sketch, entries: [...sketch.entries, entry] });
const retype =
  (key: string, type: number): Mutation =>
  (sketch) => ({ ...sketch, entries: sketch.entries.map((entry) => (entry.key === key ? { ...entry, type } : entry)) });
const tensor =
  (at: number, change: Partial<SketchedTensor>): Mutation =>
  (sketch) => ({ ...sketch, tensors: sketch.tensors.map((one, i) => (i === at ? { ...one, ...change } : one)) });
const bytes =
  (change: (file: Buffer) => Buffer): Mutation =>
  (sketch) =>
    change(encodeSketch(sketch));
const list = (key: string, itemType: number, count: bigint): SketchedEntry => entryOf.u32s(key, [], itemType, count);

const key = (suffix: string): string => `llama.${suffix}`;
const bytePieces = Array.from({ length: 256 }, (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`);
const tokens = (count: number): readonly string[] => Array.from({ length: count }, (_, i) => `x${i}`);

const ofModels: readonly (readonly [string, Mutation, RegExp])[] = [
  // Sizes and the header.
  ['an empty file', () => Buffer.alloc(0), /too short/],
  ['a header that ends early', bytes((file) => file.subarray(0, 23)), /too short/],
  ['another magic', bytes((file) => Buffer.concat([Buffer.from('GGJT'), file.subarray(4)])), /not a GGUF/],
  ['version 0', head({ version: 0 }), /version 0/],
  ['version 1', head({ version: 1 }), /version 1/],
  ['version 4', head({ version: 4 }), /version 4/],
  ['a big-endian file', head({ version: 0x03000000 }), /big-endian/],
  ['more tensors than fit', head({ tensorCount: 2n ** 40n }), /shorter than its header/],
  ['2^64-1 tensors', head({ tensorCount: 2n ** 64n - 1n }), /number of tensors/],
  ['more entries than fit', head({ entryCount: 2n ** 40n }), /shorter than its header/],
  ['2^63 entries', head({ entryCount: 2n ** 63n }), /number of metadata entries/],
  ['one entry more than there is', (sketch) => ({ ...sketch, entryCount: BigInt(sketch.entries.length + 1) }), /./],
  ['one entry less than there is', (sketch) => ({ ...sketch, entryCount: BigInt(sketch.entries.length - 1) }), /./],
  ['one tensor more than there is', (sketch) => ({ ...sketch, tensorCount: BigInt(sketch.tensors.length + 1) }), /./],
  [
    'one tensor less than there is',
    (sketch) => ({ ...sketch, tensorCount: BigInt(sketch.tensors.length - 1) }),
    /bytes behind its last tensor/,
  ],
  ['no tensors', head({ tensors: [] }), /no tensors/],
  ['a file cut in its description', bytes((file) => file.subarray(0, 1_500)), /truncated/],
  ['a file cut in its data', bytes((file) => file.subarray(0, file.length - 32)), /truncated: tensor \S+ ends at byte/],
  // Names and texts.
  ['a name without characters', put(entryOf.u32('', 1)), /the name ""/],
  ['a name with a zero byte', put(entryOf.u32('a\0b', 1)), /the name "a/],
  ['a name beyond the limit', put(entryOf.u32('k'.repeat(65_536), 1)), /65536 bytes/],
  [
    'a name of 2^64-1 bytes',
    bytes((file) => Buffer.concat([file.subarray(0, 24), Buffer.alloc(8, 255), file.subarray(32)])),
    /the name of/,
  ],
  ['a text beyond the file', put({ key: 'x', type: 8, value: Buffer.from([255, 255, 255, 127, 0, 0, 0, 0]) }), /truncated/],
  ['a text beyond the limit', put(entryOf.text('x', 'y'.repeat(ggufLimits.textBytesMax + 1))), /1048577 bytes/],
  ['an entry that is there twice', add(entryOf.u32(key('context_length'), 512)), /context_length is there twice/],
  // Values.
  ['an unknown type of value', put({ key: 'x', type: 13, value: Buffer.alloc(8) }), /unknown type 13/],
  ['a truth value of 2', put(entryOf.bool('x', 2)), /truth value of x is 2/],
  ['a list of lists', put(list('x', 9, 1n)), /holds lists/],
  ['a list of an unknown type', put(list('x', 99, 1n)), /unknown type 99/],
  ['a list beyond the file', put(list('x', 10, 2n ** 30n)), /truncated/],
  ['a list whose size overflows', put(list('x', 10, 2n ** 61n)), /number of items of x/],
  ['a list of 2^64-1 texts', put(entryOf.texts('x', [], 2n ** 64n - 1n)), /number of items of x/],
  ['a list with more texts than there are', put(entryOf.texts('x', ['a'], 2n ** 20n)), /truncated|length of a text/],
  ['a list with too many items', put(entryOf.texts('x', [], 2n ** 30n)), /items in x/],
  // Alignment.
  ['an alignment of 0', put(entryOf.u32('general.alignment', 0)), /alignment 0/],
  ['an alignment of 24', put(entryOf.u32('general.alignment', 24)), /alignment 24/],
  ['an alignment of 2^31', put(entryOf.u32('general.alignment', 2 ** 31)), /alignment 2147483648/],
  ['an alignment that is a text', put(entryOf.text('general.alignment', 'wide')), /general\.alignment has the wrong type/],
  ['another alignment than its tensors have', put(entryOf.u32('general.alignment', 4096)), /truncated|begins at/],
  // Tensors.
  ['a tensor without a name', tensor(1, { name: '' }), /the name ""/],
  ['a tensor with a name of 64 bytes', tensor(1, { name: 'n'.repeat(64) }), /64 bytes/],
  ['two tensors of one name', tensor(1, { name: 'token_embd.weight' }), /token_embd\.weight is there twice/],
  ['a tensor without dimensions', tensor(1, { dimensions: [] }), /0 dimensions/],
  ['a tensor of five dimensions', tensor(1, { dimensions: [1, 1, 1, 1, 32] }), /5 dimensions/],
  ['a dimension of 0', tensor(1, { dimensions: [32, 0] }), /dimension of 0/],
  ['a dimension below 0', tensor(1, { dimensions: [2n ** 64n - 32n] }), /dimension of tensor/],
  ['dimensions whose product overflows', tensor(1, { dimensions: [2n ** 32n, 2n ** 32n] }), /larger than any file/],
  ['dimensions whose product is 2^64 + 32', tensor(1, { dimensions: [2n ** 50n, 2n ** 50n, 32] }), /larger than any file/],
  ['a removed type of tensor', tensor(1, { type: 4 }), /unknown type 4/],
  ['an unknown type of tensor', tensor(1, { type: 77 }), /unknown type 77/],
  ['a vector of whole numbers', tensor(1, { type: 26 }), /of type i32 cannot be computed with/],
  ['a vector of halves', tensor(1, { type: 1, bytes: 64 }), /of type f16 cannot be computed with/],
  ['a matrix of blocks that only results have', tensor(10, { type: 9, bytes: 2_304 }), /of type q8_1 cannot/],
  ['a row that is no whole block', tensor(1, { type: 14 }), /no whole blocks of q6_K/],
  ['a tensor larger than the file', tensor(10, { dimensions: [64, 1 << 20] }), /truncated: tensor blk\.0\.ffn_down\.weight/],
  ['a tensor behind the file', tensor(10, { offset: 2n ** 40n }), /truncated/],
  ['an offset that overflows', tensor(10, { offset: 2n ** 64n - 32n }), /offset of tensor/],
  ['an offset between two alignments', tensor(2, { offset: 8_193n }), /begins at 8193/],
  ['two tensors in one place', tensor(2, { offset: 0n }), /begins at 0 of the data/],
  ['tensors that cross', (sketch) => tensor(4, { offset: 0n })(tensor(0, { offset: 8_192n })(sketch) as GgufSketch), /begins at 8192/],
  // What the model says of itself.
  ['no architecture', without('general.architecture'), /names no architecture/],
  ['an architecture that is a number', put(entryOf.u32('general.architecture', 7)), /general\.architecture has the wrong type/],
  ['an architecture that is a path', put(entryOf.text('general.architecture', '../llama')), /names no architecture/],
  ['a type that is a number', put(entryOf.u32('general.type', 7)), /general\.type has the wrong type/],
  ['no context', without(key('context_length')), /context_length is missing/],
  ['a context of 0', put(entryOf.u32(key('context_length'), 0)), /context_length is 0/],
  ['a context of 2^32-1', put(entryOf.u32(key('context_length'), 2 ** 32 - 1)), /context_length is 4294967295/],
  ['a context that is a text', put(entryOf.text(key('context_length'), '256')), /context_length has the wrong type/],
  ['layers without end', put(entryOf.u32(key('block_count'), 2 ** 31)), /block_count is/],
  ['a model without layers', put(entryOf.u32(key('block_count'), 0)), /block_count is 0/],
  ['no heads', put(entryOf.u32(key('attention.head_count'), 0)), /0 attention heads/],
  ['heads that do not divide', put(entryOf.u32(key('attention.head_count'), 3)), /cannot be shared by 3 heads/],
  ['no heads of keys', put(entryOf.u32(key('attention.head_count_kv'), 0)), /share 0 heads of keys/],
  ['more heads of keys than heads', put(entryOf.u32(key('attention.head_count_kv'), 3)), /share 3 heads of keys/],
  ['heads by layer that are too few', put(entryOf.u32s(key('attention.head_count'), [])), /0 items for 1 layers/],
  ['heads by layer below 0', put(entryOf.u32s(key('attention.head_count_kv'), [2 ** 32 - 1, 1])), /head_count_kv is -1/],
  ['an embedding without values', put(entryOf.u32(key('embedding_length'), 0)), /embedding_length is 0/],
  ['heads without a length', put(entryOf.u32(key('attention.key_length'), 0)), /key_length is 0/],
  ['an epsilon that is no number', put(entryOf.f32(key('attention.layer_norm_rms_epsilon'), Number.NaN)), /is NaN/],
  ['an epsilon below 0', put(entryOf.f32(key('attention.layer_norm_rms_epsilon'), -1e-5)), /\(0 to 1\)/],
  ['an endless base of positions', put(entryOf.f32(key('rope.freq_base'), Number.POSITIVE_INFINITY)), /is Infinity/],
  ['a part of a model', put(entryOf.u16('split.count', 3)), /one part of a model/],
  // The vocabulary: native code reads all lists by the length of the first.
  ['no tokenizer', without('tokenizer.ggml.model'), /tokenizer\.ggml\.model is missing/],
  ['no vocabulary', without('tokenizer.ggml.tokens'), /no vocabulary/],
  ['an empty vocabulary', put(entryOf.texts('tokenizer.ggml.tokens', [])), /no vocabulary/],
  [
    'a token that is there twice',
    put(entryOf.texts('tokenizer.ggml.tokens', [...tokens(287), 'x7'])),
    /token 287 is in the vocabulary twice/,
  ],
  ['a token beyond the limit', put(list('tokenizer.ggml.tokens', 8, 300n)), /token \d+ has \d+ bytes/],
  ['tokens that are numbers', put(entryOf.u32s('tokenizer.ggml.tokens', [1, 2])), /items of the wrong type 5/],
  ['tokens that are one text', put(entryOf.text('tokenizer.ggml.tokens', 'a b')), /tokens has the wrong type 8/],
  ['fewer scores than tokens', put(entryOf.f32s('tokenizer.ggml.scores', [0])), /1 items for 288 tokens/],
  ['scores that are whole numbers', put(entryOf.u32s('tokenizer.ggml.scores', [1])), /items of the wrong type/],
  ['fewer kinds than tokens', put(entryOf.u32s('tokenizer.ggml.token_type', [1])), /1 items for 288 tokens/],
  ['merges that are numbers', put(entryOf.u32s('tokenizer.ggml.merges', [1])), /items of the wrong type/],
  ['a character map of texts', put(entryOf.texts('tokenizer.ggml.precompiled_charsmap', ['x'])), /items of the wrong type/],
  ['an end token that is a text', put(entryOf.text('tokenizer.ggml.eos_token_id', '2')), /eos_token_id has the wrong type/],
  [
    'a chat template that is a number',
    retype('tokenizer.chat_template', 10),
    /chat_template has the wrong type 10|more than any file|truncated/,
  ],
  ['no tokens of bytes', put(entryOf.texts('tokenizer.ggml.tokens', tokens(288))), /token 3 is said to be a byte/],
  [
    'no tokens of bytes that it knows of',
    (sketch) => without('tokenizer.ggml.token_type')(put(entryOf.texts('tokenizer.ggml.tokens', tokens(288)))(sketch) as GgufSketch),
    /lacks tokens of single bytes/,
  ],
  [
    'more tokens than embeddings',
    (sketch) =>
      without('tokenizer.ggml.token_type')(
        without('tokenizer.ggml.scores')(
          put(entryOf.texts('tokenizer.ggml.tokens', [...bytePieces, ...tokens(33)]))(sketch) as GgufSketch,
        ) as GgufSketch,
      ),
    /288 embeddings for 289 tokens/,
  ],
];

const ofAdapters: readonly (readonly [string, Mutation, RegExp])[] = [
  ['no kind', without('adapter.type'), /no LoRA/],
  ['another kind', put(entryOf.text('adapter.type', 'control_vector')), /type control_vector/],
  ['a kind that is a number', put(entryOf.u32('adapter.type', 1)), /adapter\.type has the wrong type/],
  ['no strength', without('adapter.lora.alpha'), /alpha is missing/],
  ['a strength that is a whole number', put(entryOf.u32('adapter.lora.alpha', 16)), /alpha has the wrong type/],
  ['a strength that is no number', put(entryOf.f32('adapter.lora.alpha', Number.NaN)), /alpha is NaN/],
  ['a foreign tensor', tensor(0, { name: 'token_embd.weight' }), /no part of a LoRA/],
  ['half a pair', (sketch) => ({ ...sketch, tensors: sketch.tensors.slice(0, 3) }), /has no partner/],
  ['halves of two ranks', tensor(1, { dimensions: [8, 16] }), /ranks 4 and 8/],
  ['a half that is no matrix', tensor(0, { dimensions: [128] }), /no matrix/],
  ['a half larger than the file', tensor(3, { dimensions: [4, 1 << 24] }), /truncated/],
];

describe('GGUF files that were changed (R18): each is refused before native code sees it', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'ostraka-mutations-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const check = (file: Buffer, code: 'MODEL_INVALID' | 'ADAPTER_INVALID' = 'MODEL_INVALID') => {
    const path = join(folder, 'file.gguf');
    writeFileSync(path, file);
    return checkModelFile(path, (reason) => platformError(code, reason));
  };
  const bytesOf = (mutated: GgufSketch | Buffer): Buffer => (Buffer.isBuffer(mutated) ? mutated : encodeSketch(mutated));

  it('takes the files that the changes are made to, and tells what they are', () => {
    const { description } = check(encodeSketch(sketchModel()));
    expect(description).toEqual({
      type: undefined,
      architecture: 'llama',
      label: 'tiny',
      parameters: 288 * 32 + 3 * 32 + 2 * 32 * 32 + 2 * 32 * 16 + 3 * 32 * 64,
      quantisation: 'f32',
      weightsBytes: 4 * description.parameters,
      fileBytes: encodeSketch(sketchModel()).length,
      contextTokensMax: 256,
      layers: 1,
      embeddingLength: 32,
      feedForwardLength: 64,
      heads: 2,
      headsOfKeys: 1,
      kvBytesPerToken: 16 * 2 * 2,
      vocabulary: 288,
      hasChatTemplate: true,
      isEncoder: false,
    });
    expect(check(encodeSketch(sketchAdapter())).description).toMatchObject({ type: 'adapter', architecture: 'llama', vocabulary: 0 });
  });

  it.each(ofModels)('a model with %s', (_, mutate, reason) => {
    expect(() => check(bytesOf(mutate(sketchModel())))).toThrow(
      expect.objectContaining({ code: 'MODEL_INVALID', message: expect.stringMatching(reason) }),
    );
  });

  it.each(ofAdapters)('an adapter with %s', (_, mutate, reason) => {
    expect(() => check(bytesOf(mutate(sketchAdapter())), 'ADAPTER_INVALID')).toThrow(
      expect.objectContaining({ code: 'ADAPTER_INVALID', message: expect.stringMatching(reason) }),
    );
  });

  it('any bytes changed in a description give a description or a reason, in bounded time', () => {
    const file = encodeSketch(sketchModel());
    const changes = fc.array(fc.tuple(fc.nat(13_000), fc.nat(255)), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(changes, (list) => {
        const copy = Buffer.from(file);
        for (const [at, value] of list) copy[at] = value;
        try {
          expect(check(copy).description.fileBytes).toBe(file.length);
        } catch (error) {
          expect(error).toMatchObject({ code: 'MODEL_INVALID', message: expect.not.stringContaining('cannot be read') });
        }
      }),
      { seed: 18, numRuns: 500 },
    );
  });
});
