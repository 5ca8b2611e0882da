import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ModelShape } from '../../src/platform/index.js';
import type { AdapterTensor } from '../../src/training/index.js';
import { permuteRows } from '../../src/training/permuteRows.js';

const modules: { readonly [target: string]: string } = {
  attn_q: 'self_attn.q_proj',
  attn_k: 'self_attn.k_proj',
  attn_v: 'self_attn.v_proj',
  attn_output: 'self_attn.o_proj',
  ffn_gate: 'mlp.gate_proj',
  ffn_up: 'mlp.up_proj',
  ffn_down: 'mlp.down_proj',
};

/** The tensors of an adapter with the rows of q and k where a PEFT file has them: what the import undoes. */
export function toPeftOrder(tensors: readonly AdapterTensor[], shape: ModelShape): readonly AdapterTensor[] {
  return tensors.map((tensor) => {
    const target = tensor.name.match(/\.(attn_[qk])\.weight\.lora_b$/)?.[1];
    const heads = target === 'attn_q' ? shape.heads : target === 'attn_k' ? shape.headsOfKeys : undefined;
    return heads === undefined ? tensor : { ...tensor, values: unpermute(tensor, heads) };
  });
}

const unpermute = ({ values, rows, columns }: AdapterTensor, heads: number): Float32Array => {
  const numbers = Float32Array.from({ length: rows }, (_, row) => row);
  const result = new Float32Array(values.length);
  for (const [to, from] of permuteRows(numbers, { rows, columns: 1, heads }).entries())
    result.set(values.subarray(to * columns, (to + 1) * columns), from * columns);
  return result;
};

/** Writes adapter_config.json and adapter_model.safetensors as PEFT does, of tensors in PEFT's order. */
export function writePeftFiles(folder: string, adapter: { readonly tensors: readonly AdapterTensor[]; readonly config: object }): void {
  mkdirSync(folder, { recursive: true });
  const header: { [name: string]: unknown } = {};
  let offset = 0;
  for (const { name, rows, columns, values } of adapter.tensors) {
    const [, layer, target, side] = /^blk\.(\d+)\.(\w+)\.weight\.lora_([ab])$/.exec(name) as unknown as [string, string, string, string];
    const module = `base_model.model.model.layers.${layer}.${modules[target]}.lora_${side.toUpperCase()}.weight`;
    header[module] = { dtype: 'F32', shape: [rows, columns], data_offsets: [offset, offset + values.byteLength] };
    offset += values.byteLength;
  }
  const text = Buffer.from(JSON.stringify(header));
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(text.length));
  const floats = adapter.tensors.map(({ values }) => Buffer.from(values.buffer, values.byteOffset, values.byteLength));
  writeFileSync(join(folder, 'adapter_model.safetensors'), Buffer.concat([size, text, ...floats]));
  writeFileSync(join(folder, 'adapter_config.json'), JSON.stringify(adapter.config));
}
