import { describe, expect, it } from 'vitest';
import { linearWidths, platformError } from '../../index.js';
import type { GgufFacts, GgufTensor } from '../llama/readGguf.js';
import { describeLlama } from './describeLlama.js';
import { layOutPass } from './layOutPass.js';

const shape = { layers: 1, width: 8, feedForwardWidth: 12, heads: 2, headsOfKeys: 1, vocabularySize: 10, contextTokens: 64 };
const metadata = {
  'general.architecture': 'llama',
  'llama.block_count': 1,
  'llama.context_length': 64,
  'llama.embedding_length': 8,
  'llama.feed_forward_length': 12,
  'llama.attention.head_count': 2,
  'llama.attention.head_count_kv': 1,
  'llama.attention.layer_norm_rms_epsilon': 1e-5,
  'llama.rope.freq_base': 5000,
};
const matrix = (name: string, dimensions: readonly number[], type = 8): GgufTensor => ({ name: `${name}.weight`, dimensions, type });
const tensors = [
  matrix('token_embd', [8, 10]),
  matrix('output_norm', [8], 0),
  matrix('blk.0.attn_norm', [8], 0),
  matrix('blk.0.ffn_norm', [8], 0),
  ...Object.entries(linearWidths(shape)).map(([name, { inputs, outputs }]) => matrix(`blk.0.${name}`, [inputs, outputs])),
];
const refuse = (reason: string) => platformError('MODEL_INVALID', reason);
const factsOf = (changes: object, list: readonly GgufTensor[] = tensors): GgufFacts => ({
  metadata: new Map(Object.entries({ ...metadata, ...changes }).filter(([, value]) => value !== undefined)),
  tensors: list,
});
const changed = (name: string, change: Partial<GgufTensor>) =>
  tensors.map((tensor) => (tensor.name === `${name}.weight` ? { ...tensor, ...change } : tensor));

describe('describeLlama: what the trainer can compute (R29)', () => {
  it('reads the shape of a plain llama model, with and without an output of its own', () => {
    expect(describeLlama(factsOf({}), refuse)).toMatchObject({ shape, ropeBase: 5000 });
    expect(describeLlama(factsOf({}, [...tensors, matrix('output', [8, 10])]), refuse).shape).toEqual(shape);
    expect(describeLlama(factsOf({ 'llama.rope.freq_base': undefined }), refuse).ropeBase).toBe(10_000);
  });

  it.each<[string, GgufFacts, RegExp]>([
    ['another architecture', factsOf({ 'general.architecture': 'qwen2' }), /architecture is qwen2; only llama/],
    ['no architecture', factsOf({ 'general.architecture': undefined }), /not stated/],
    ['a mixture of experts', factsOf({ 'llama.expert_count': 8 }), /mixture of experts/],
    ['scaled positions', factsOf({ 'llama.rope.scaling.type': 'yarn' }), /scaled \(yarn\)/],
    ['partly turned heads', factsOf({ 'llama.rope.dimension_count': 2 }), /rope\.dimension_count is 2 instead of 4/],
    ['heads that do not divide', factsOf({ 'llama.attention.head_count': 3 }), /3 heads/],
    ['a missing number', factsOf({ 'llama.block_count': undefined }), /no number llama\.block_count/],
    ['a count that is a list', factsOf({ 'llama.feed_forward_length': undefined }), /feed_forward_length/],
    ['a bias', factsOf({}, [...tensors, { ...matrix('x', [8], 0), name: 'blk.0.attn_q.bias' }]), /blk\.0\.attn_q\.bias, which/],
    ['factors of positions', factsOf({}, [...tensors, matrix('rope_freqs', [4], 0)]), /rope_freqs/],
    ['another quantisation', factsOf({}, changed('blk.0.attn_q', { type: 22 })), /attn_q\.weight is quantised in a way \(type 22\)/],
    ['another size', factsOf({}, changed('blk.0.ffn_up', { dimensions: [8, 16] })), /sizes 8,16 instead of 8,12/],
    ['a norm that is no float', factsOf({}, changed('output_norm', { type: 1 })), /not of 32-bit floats/],
    ['a missing tensor', factsOf({}, tensors.slice(0, -1)), /no tensor blk\.0\.ffn_down/],
    ['no tokens', factsOf({}, tensors.slice(1)), /token_embd/],
  ])('refuses %s with the reason', (_, facts, message) => {
    expect(() => describeLlama(facts, refuse)).toThrow(
      expect.objectContaining({ code: 'MODEL_INVALID', message: expect.stringMatching(message) }),
    );
  });
});

describe('layOutPass', () => {
  it('pads at the end, counts positions anew in each sequence, and aims at the answers alone', () => {
    const sequences = [
      { tokens: Int32Array.of(5, 6, 7), promptTokens: 2 },
      { tokens: Int32Array.of(1, 2, 3, 4, 9), promptTokens: 3 },
    ];
    expect(layOutPass(sequences)).toEqual({
      sequences: 2,
      positions: 4,
      tokens: Int32Array.of(5, 6, 0, 0, 1, 2, 3, 4),
      positionIds: Int32Array.of(0, 1, 2, 3, 0, 1, 2, 3),
      targetRows: Int32Array.of(1, 6, 7),
      targetTokens: Int32Array.of(7, 4, 9),
    });
  });
});
