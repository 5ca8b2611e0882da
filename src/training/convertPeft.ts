import { z } from 'zod';
import type { Safetensors } from '../models/index.js';
import { type LinearName, linearWidths, type ModelShape } from '../platform/index.js';
import { type AdapterTensor, fitsHalf } from './encodeAdapter.js';
import { trainingError } from './errors.js';
import { permuteRows } from './permuteRows.js';

/** What an imported adapter holds. */
export interface ConvertedAdapter {
  readonly rank: number;
  /** The one that gives GGUF's scale alpha / rank the strength PEFT trained with. */
  readonly alpha: number;
  readonly tensors: readonly AdapterTensor[];
}

const emptyPattern = z.record(z.string(), z.unknown()).nullish();
const peftConfig = z.looseObject({
  peft_type: z.string(),
  r: z.int().min(1).max(4096),
  lora_alpha: z.number().positive(),
  bias: z.string().default('none'),
  use_rslora: z.boolean().nullish(),
  use_dora: z.boolean().nullish(),
  lora_bias: z.boolean().nullish(),
  fan_in_fan_out: z.boolean().nullish(),
  modules_to_save: z.array(z.string()).nullish(),
  rank_pattern: emptyPattern,
  alpha_pattern: emptyPattern,
});
type PeftConfig = z.infer<typeof peftConfig>;

const targets: ReadonlyMap<string, LinearName> = new Map([
  ['self_attn.q_proj', 'attn_q'],
  ['self_attn.k_proj', 'attn_k'],
  ['self_attn.v_proj', 'attn_v'],
  ['self_attn.o_proj', 'attn_output'],
  ['mlp.gate_proj', 'ffn_gate'],
  ['mlp.up_proj', 'ffn_up'],
  ['mlp.down_proj', 'ffn_down'],
]);
const layerForm = /^(?:base_model\.model\.)?model\.layers\.(\d+)\.(.+)\.lora_([AB])(?:\.[^.]+)?\.weight$/;

/**
 * A PEFT adapter (adapter_config.json and its safetensors) as the tensors of a GGUF LoRA for a llama model of `shape`. What cannot be
 * carried over is refused by its name, never left out. Errors: ADAPTER_IMPORT_REFUSED, MODEL_INVALID (a damaged file).
 */
export function convertPeft(request: {
  readonly config: unknown;
  readonly file: Safetensors;
  readonly shape: ModelShape;
}): ConvertedAdapter {
  const { file, shape } = request;
  const config = readConfig(request.config);
  const pairs = new Map<string, { readonly layer: number; readonly target: LinearName; a?: string; b?: string }>();
  for (const name of file.names) {
    const { layer, target, side } = placeOf(name, shape);
    const key = `blk.${layer}.${target}`;
    const pair = pairs.get(key) ?? { layer, target };
    if (pair[side] !== undefined) throw refused(`${name} is there twice`);
    pair[side] = name;
    pairs.set(key, pair);
  }
  if (pairs.size === 0) throw refused('the file holds no matrices of an adapter');
  const inOrder = [...pairs.values()].sort((left, right) => left.layer - right.layer);
  const { r: rank, lora_alpha: alpha, use_rslora: isRankStabilised } = config;
  return {
    rank,
    alpha: isRankStabilised ? alpha * Math.sqrt(rank) : alpha,
    tensors: inOrder.flatMap((pair) => convertPair(pair, { file, shape, rank })),
  };
}

const refused = (reason: string) => trainingError('ADAPTER_IMPORT_REFUSED', `the adapter cannot be imported: ${reason}`);

const readConfig = (given: unknown): PeftConfig => {
  const parsed = peftConfig.safeParse(given);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw refused(`adapter_config.json: ${issue?.path.join('.') || 'the file'}: ${issue?.message}`);
  }
  const { data: config } = parsed;
  const reason = unsupported(config);
  if (reason !== undefined) throw refused(`adapter_config.json: ${reason}`);
  return config;
};

const unsupported = (config: PeftConfig): string | undefined => {
  if (config.peft_type !== 'LORA') return `peft_type is ${config.peft_type}, only LORA is known`;
  if (config.use_dora) return 'use_dora: DoRA has no place in a LoRA file';
  if (config.bias !== 'none' || config.lora_bias) return 'bias: trained biases have no place in a LoRA file';
  if (config.modules_to_save?.length) return `modules_to_save: whole layers (${config.modules_to_save.join(', ')}) have no place in it`;
  if (config.fan_in_fan_out) return 'fan_in_fan_out: transposed layers are not of llama models';
  for (const key of ['rank_pattern', 'alpha_pattern'] as const)
    if (Object.keys(config[key] ?? {}).length > 0) return `${key}: one rank and one alpha hold for all layers`;
  return undefined;
};

const placeOf = (name: string, shape: ModelShape): { readonly layer: number; readonly target: LinearName; readonly side: 'a' | 'b' } => {
  const [, layer, module, side] = layerForm.exec(name) ?? [];
  const target = targets.get(module ?? '');
  if (target === undefined) throw refused(`tensor ${name} is of a module that cannot be adapted; ${[...targets.keys()].join(', ')} can`);
  if (Number(layer) >= shape.layers) throw refused(`tensor ${name} is of a layer that the base model, with ${shape.layers}, does not have`);
  return { layer: Number(layer), target, side: side === 'A' ? 'a' : 'b' };
};

const convertPair = (
  pair: { readonly layer: number; readonly target: LinearName; readonly a?: string; readonly b?: string },
  { file, shape, rank }: { readonly file: Safetensors; readonly shape: ModelShape; readonly rank: number },
): AdapterTensor[] => {
  const { layer, target, a, b } = pair;
  if (a === undefined) throw refused(`tensor ${b} has no lora_A beside it`);
  if (b === undefined) throw refused(`tensor ${a} has no lora_B beside it`);
  const { inputs, outputs } = linearWidths(shape)[target];
  const low = readMatrix(file, a, { rows: rank, columns: inputs });
  const high = readMatrix(file, b, { rows: outputs, columns: rank });
  const turned: Partial<Record<LinearName, number>> = { attn_q: shape.heads, attn_k: shape.headsOfKeys };
  const heads = turned[target];
  const values = heads === undefined ? high : permuteRows(high, { rows: outputs, columns: rank, heads });
  const name = `blk.${layer}.${target}.weight`;
  return [
    { name: `${name}.lora_a`, columns: inputs, rows: rank, values: low },
    { name: `${name}.lora_b`, columns: rank, rows: outputs, values },
  ];
};

const readMatrix = (file: Safetensors, name: string, size: { readonly rows: number; readonly columns: number }): Float32Array => {
  const { shape, values } = file.read(name);
  if (shape.length !== 2 || shape[0] !== size.rows || shape[1] !== size.columns)
    throw refused(`tensor ${name} has shape [${shape.join(', ')}], the base model and r need [${size.rows}, ${size.columns}]`);
  if (!fitsHalf(values)) throw refused(`tensor ${name} has a value that 16 bits cannot hold`);
  return values;
};
