import { describe, expect, it } from 'vitest';
import { concatBytes, utf8 } from '../base/index.js';
import { readSafetensors } from '../models/index.js';
import { convertPeft } from './convertPeft.js';
import { permuteRows } from './permuteRows.js';

const shape = { layers: 2, width: 8, feedForwardWidth: 12, heads: 2, headsOfKeys: 1, vocabularySize: 10, contextTokens: 64 };
const config = {
  peft_type: 'LORA',
  r: 2,
  lora_alpha: 6,
  bias: 'none',
  modules_to_save: null,
  target_modules: ['q_proj'],
  rank_pattern: {},
};
type Matrix = readonly [rows: number, columns: number, fill?: (i: number) => number];

const fileOf = (tensors: { readonly [name: string]: Matrix }) => {
  let offset = 0;
  const parts: Uint8Array[] = [];
  const header: { [name: string]: unknown } = {};
  for (const [name, [rows, columns, fill = (i: number) => i]] of Object.entries(tensors)) {
    const values = Float32Array.from({ length: rows * columns }, (_, i) => fill(i));
    header[name] = { dtype: 'F32', shape: [rows, columns], data_offsets: [offset, offset + values.byteLength] };
    offset += values.byteLength;
    parts.push(new Uint8Array(values.buffer));
  }
  const text = utf8.encode(JSON.stringify(header));
  const size = new Uint8Array(8);
  new DataView(size.buffer).setBigUint64(0, BigInt(text.length), true);
  return readSafetensors(concatBytes([size, text, ...parts]));
};
const prefix = 'base_model.model.model.layers';
const queries: { [name: string]: Matrix } = {
  [`${prefix}.0.self_attn.q_proj.lora_A.weight`]: [2, 8],
  [`${prefix}.0.self_attn.q_proj.lora_B.weight`]: [8, 2],
};

describe('convertPeft (R21)', () => {
  it('names matrices as GGUF does, in the order of layers, and turns the rows of q and k alone', () => {
    const file = fileOf({
      [`${prefix}.1.mlp.down_proj.lora_A.default.weight`]: [2, 12],
      [`${prefix}.1.mlp.down_proj.lora_B.default.weight`]: [8, 2],
      [`${prefix}.0.self_attn.k_proj.lora_B.weight`]: [4, 2],
      [`${prefix}.0.self_attn.k_proj.lora_A.weight`]: [2, 8],
      ...queries,
      [`${prefix}.0.self_attn.v_proj.lora_A.weight`]: [2, 8],
      [`${prefix}.0.self_attn.v_proj.lora_B.weight`]: [4, 2],
    });
    const { tensors, alpha, rank } = convertPeft({ config, file, shape });
    expect([alpha, rank]).toEqual([6, 2]);
    const of = (name: string) => Array.from(tensors.find((tensor) => tensor.name === name)?.values ?? []);
    expect(tensors.map(({ name }) => name)).toEqual(
      ['blk.0.attn_k', 'blk.0.attn_q', 'blk.0.attn_v', 'blk.1.ffn_down'].flatMap((name) => [
        `${name}.weight.lora_a`,
        `${name}.weight.lora_b`,
      ]),
    );
    // Rows 0, 1 | 2, 3 are the halves of a head of 4: they become 0, 2, 1, 3.
    expect(of('blk.0.attn_k.weight.lora_b')).toEqual([0, 1, 4, 5, 2, 3, 6, 7]);
    expect(of('blk.0.attn_q.weight.lora_b')).toEqual([0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15]);
    expect(of('blk.0.attn_v.weight.lora_b')).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(of('blk.0.attn_q.weight.lora_a')).toEqual(Array.from({ length: 16 }, (_, i) => i));
  });

  it('carries the strength of a rank-stabilised adapter over', () => {
    expect(convertPeft({ config: { ...config, use_rslora: true }, file: fileOf(queries), shape }).alpha).toBeCloseTo(6 * Math.SQRT2);
  });

  it.each<[string, object, RegExp]>([
    ['another method', { peft_type: 'LOHA' }, /peft_type is LOHA/],
    ['DoRA', { use_dora: true }, /use_dora/],
    ['trained biases', { bias: 'lora_only' }, /bias/],
    ['biases of its own', { lora_bias: true }, /bias/],
    ['whole layers', { modules_to_save: ['lm_head'] }, /modules_to_save: .*lm_head/],
    ['ranks by layer', { rank_pattern: { q_proj: 4 } }, /rank_pattern/],
    ['alphas by layer', { alpha_pattern: { q_proj: 4 } }, /alpha_pattern/],
    ['transposed layers', { fan_in_fan_out: true }, /fan_in_fan_out/],
    ['no rank', { r: undefined }, /adapter_config\.json: r:/],
  ])('refuses %s by name', (_, change, message) => {
    const convert = () => convertPeft({ config: { ...config, ...change }, file: fileOf(queries), shape });
    expect(convert).toThrow(expect.objectContaining({ code: 'ADAPTER_IMPORT_REFUSED', message: expect.stringMatching(message) }));
  });

  const [first, second] = Object.keys(queries) as [string, string];
  it.each<[string, { readonly [name: string]: Matrix }, RegExp]>([
    ['a matrix without its partner', { [first]: [2, 8] }, /q_proj\.lora_A\.weight has no lora_B/],
    ['the other without its partner', { [second]: [8, 2] }, /q_proj\.lora_B\.weight has no lora_A/],
    ['another base model', { [first]: [2, 16], [second]: [16, 2] }, /has shape \[2, 16\], the base model and r need \[2, 8\]/],
    ['another rank than it states', { [first]: [4, 8], [second]: [8, 4] }, /has shape \[4, 8\]/],
    ['more layers', { [first.replace('.0.', '.2.')]: [2, 8] }, /layer that the base model, with 2, does not have/],
    ['the table of tokens', { 'base_model.model.model.embed_tokens.lora_embedding_A': [2, 8] }, /embed_tokens/],
    ['magnitudes of DoRA', { ...queries, [`${prefix}.0.self_attn.q_proj.lora_magnitude_vector`]: [8, 1] }, /lora_magnitude_vector/],
    ['the output', { 'base_model.model.lm_head.lora_A.weight': [2, 8] }, /lm_head/],
    ['nothing', {}, /no matrices/],
    ['a pair twice', { ...queries, [first.replace('lora_A.', 'lora_A.default.')]: [2, 8] }, /twice/],
    ['values that are no numbers', { ...queries, [first]: [2, 8, () => Number.NaN] }, /16 bits/],
  ])('refuses %s by name', (_, tensors, message) => {
    expect(() => convertPeft({ config, file: fileOf(tensors), shape })).toThrow(
      expect.objectContaining({ code: 'ADAPTER_IMPORT_REFUSED', message: expect.stringMatching(message) }),
    );
  });
});

describe('permuteRows', () => {
  it('puts the pairs of a head, half a head apart, side by side; every row is kept', () => {
    const rows = Float32Array.from({ length: 12 }, (_, row) => row);
    expect(Array.from(permuteRows(rows, { rows: 12, columns: 1, heads: 2 }))).toEqual([0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11]);
  });
});
