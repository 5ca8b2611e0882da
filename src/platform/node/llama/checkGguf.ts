import { GgufFault } from './GgufFault.js';
import { GgufReading } from './GgufReading.js';
import { ggmlTypes } from './ggmlTypes.js';
import { ggufLimits } from './ggufLimits.js';
import { ggufTypes } from './ggufTypes.js';
import type { GgufContents, GgufList, SizedTensor } from './readGguf.js';

const int32Max = 2 ** 31 - 1;

/**
 * Checks what the description of a GGUF file means: figures of the wrong type or of nonsense, lists of the vocabulary that differ in
 * length (native code reads the longer one's length of the shorter), adapters without pairs. Errors: GgufFault.
 */
export function checkGguf(facts: GgufContents): void {
  const reading = new GgufReading(facts);
  const type = reading.text('general.type');
  if (!/^[a-z][a-z0-9._-]{0,63}$/.test(reading.architecture)) throw new GgufFault('the file names no architecture');
  if (facts.tensors.length === 0) throw new GgufFault('the file holds no tensors');
  if (reading.text('general.name') === '') throw new GgufFault('the metadata entry general.name is empty');
  if (type === 'adapter') checkAdapter(facts, reading);
  else checkModel(facts, reading);
}

const checkModel = (facts: GgufContents, reading: GgufReading): void => {
  if ((reading.u16('split.count') ?? 1) > 1) throw new GgufFault('the file is one part of a model: join its parts first');
  checkFigures(reading);
  checkHeads(reading);
  checkVocabulary(facts, reading);
  for (const tensor of facts.tensors) checkWeight(tensor);
  reading.text('tokenizer.chat_template');
};

/** Types that native code multiplies with; whole numbers, and blocks that it only uses in between, end the process. */
const isWeightType = (type: number): boolean =>
  ggmlTypes.has(type) && !['i8', 'i16', 'i32', 'i64', 'f64', 'q8_1', 'q8_K'].includes(nameOf(type));
const nameOf = (type: number): string => ggmlTypes.get(type)?.name ?? '';

/** Vectors are added to and multiplied with floats of 32 bits. */
const checkWeight = ({ name, type, dimensions }: SizedTensor): void => {
  if (!/\.(weight|bias)$/.test(name)) return;
  const fits = dimensions.length === 1 ? nameOf(type) === 'f32' : isWeightType(type);
  if (!fits) throw new GgufFault(`tensor ${name} of type ${nameOf(type)} cannot be computed with`);
};

/** Suffixes of figures that a model must, or may, have: from 1 to. */
const figures: readonly { readonly suffix: string; readonly max: number; readonly isNeeded: boolean }[] = [
  { suffix: 'context_length', max: int32Max, isNeeded: true },
  { suffix: 'embedding_length', max: 1 << 20, isNeeded: true },
  { suffix: 'block_count', max: ggufLimits.layersMax, isNeeded: true },
  { suffix: 'attention.key_length', max: 1 << 16, isNeeded: false },
  { suffix: 'attention.value_length', max: 1 << 16, isNeeded: false },
  { suffix: 'vocab_size', max: ggufLimits.listItemsMax, isNeeded: false },
];

const checkFigures = (reading: GgufReading): void => {
  for (const { suffix, max, isNeeded } of figures) {
    const key = reading.own(suffix);
    const value = reading.u32(key);
    if (value === undefined && isNeeded) throw new GgufFault(`the metadata entry ${key} is missing`);
    if (value !== undefined && (value < 1 || value > max)) throw new GgufFault(`the metadata entry ${key} is ${value} (1 to ${max})`);
  }
  for (const suffix of ['attention.layer_norm_epsilon', 'attention.layer_norm_rms_epsilon', 'attention.group_norm_epsilon'])
    checkShare(reading, reading.own(suffix));
  for (const suffix of ['rope.freq_base', 'rope.scaling.factor']) reading.f32(reading.own(suffix));
  const rotated = reading.u32(reading.own('rope.dimension_count')) ?? 0;
  if (rotated > 1 << 16) throw new GgufFault(`the metadata entry ${reading.own('rope.dimension_count')} is ${rotated}`);
};

const checkShare = (reading: GgufReading, key: string): void => {
  const value = reading.f32(key) ?? 0;
  if (value < 0 || value > 1) throw new GgufFault(`the metadata entry ${key} is ${value} (0 to 1)`);
};

const checkHeads = (reading: GgufReading): void => {
  const layers = reading.u32(reading.own('block_count')) as number;
  const keys = ['attention.head_count', 'attention.head_count_kv', 'feed_forward_length'].map((suffix) => reading.own(suffix));
  for (const key of keys) {
    const values = reading.byLayer(key);
    if (values === undefined) continue;
    if (values.length !== 1 && values.length < layers) throw new GgufFault(`${key} has ${values.length} items for ${layers} layers`);
    const wrong = values.find((value) => value < 0 || value > 1 << 24);
    if (wrong !== undefined) throw new GgufFault(`the metadata entry ${key} is ${wrong}`);
  }
  const [heads, headsOfKeys] = keys.map((key) => reading.byLayer(key));
  checkHeadCounts(reading, heads ?? [], headsOfKeys ?? heads ?? []);
};

/** Models with a running state have layers, or only layers, without heads. */
const hasState = (reading: GgufReading): boolean => ['ssm.conv_kernel', 'wkv.head_size'].some((key) => reading.has(reading.own(key)));

const checkHeadCounts = (reading: GgufReading, heads: readonly number[], headsOfKeys: readonly number[]): void => {
  if (heads.length > 1 || hasState(reading)) return; // differs by layer: llama.cpp compares it with the tensors
  const [count = 0] = heads;
  const embedding = reading.u32(reading.own('embedding_length')) as number;
  if (count === 0 || count > 1 << 16) throw new GgufFault(`the model has ${count} attention heads`);
  if (!reading.has(reading.own('attention.key_length')) && embedding % count !== 0)
    throw new GgufFault(`an embedding of ${embedding} values cannot be shared by ${count} heads`);
  const [ofKeys = count] = headsOfKeys;
  if (headsOfKeys.length === 1 && (ofKeys === 0 || count % ofKeys !== 0))
    throw new GgufFault(`${count} heads cannot share ${ofKeys} heads of keys`);
};

const checkVocabulary = (facts: GgufContents, reading: GgufReading): void => {
  const model = reading.text('tokenizer.ggml.model');
  if (model === undefined) throw new GgufFault('the metadata entry tokenizer.ggml.model is missing');
  reading.text('tokenizer.ggml.pre');
  const tokens = reading.list('tokenizer.ggml.tokens', [ggufTypes.text]);
  if (tokens === undefined || tokens.count === 0) throw new GgufFault('the file has no vocabulary');
  const lists = [
    { key: 'tokenizer.ggml.scores', types: [ggufTypes.f32] },
    { key: 'tokenizer.ggml.token_type', types: [ggufTypes.i32, ggufTypes.u32] },
  ];
  for (const { key, types } of lists) {
    const list = reading.list(key, types);
    if (list !== undefined && list.count !== tokens.count) throw new GgufFault(`${key} has ${list.count} items for ${tokens.count} tokens`);
  }
  checkBytes(model, tokens, reading.list('tokenizer.ggml.token_type', lists[1]?.types ?? []));
  reading.list('tokenizer.ggml.merges', [ggufTypes.text]);
  reading.list('tokenizer.ggml.precompiled_charsmap', [ggufTypes.u8, ggufTypes.i8]);
  for (const name of ['bos', 'eos', 'unknown', 'seperator', 'padding']) reading.u32(`tokenizer.ggml.${name}_token_id`);
  for (const name of ['bos', 'eos']) reading.bool(`tokenizer.ggml.add_${name}_token`);
  const rows = facts.tensors.find(({ name }) => name === 'token_embd.weight')?.dimensions[1];
  if (rows !== undefined && rows !== tokens.count) throw new GgufFault(`the model has ${rows} embeddings for ${tokens.count} tokens`);
};

const byteKind = 6;

/** Text that has no token is written as bytes, whose tokens native code then takes for granted. */
const checkBytes = (model: string, tokens: GgufList, kinds: GgufList | undefined): void => {
  const byteForms = tokens.byteForms ?? new Map<number, number>();
  const wrong = kinds?.numbers?.findIndex((kind, token) => kind === byteKind && !byteForms.has(token)) ?? -1;
  if (wrong >= 0) throw new GgufFault(`token ${wrong} is said to be a byte and is none`);
  if (model === 'llama' && new Set(byteForms.values()).size < 256) throw new GgufFault('the vocabulary lacks tokens of single bytes');
};

const checkAdapter = ({ tensors }: GgufContents, reading: GgufReading): void => {
  const kind = reading.text('adapter.type');
  if (kind !== 'lora') throw new GgufFault(`the adapter is of the type ${kind ?? '(none)'}, no LoRA`);
  const alpha = reading.f32('adapter.lora.alpha');
  if (alpha === undefined) throw new GgufFault('the metadata entry adapter.lora.alpha is missing');
  const byName = new Map(tensors.map((tensor) => [tensor.name, tensor]));
  for (const tensor of tensors) checkPair(tensor, byName);
};

const checkPair = ({ name, dimensions, type }: SizedTensor, byName: ReadonlyMap<string, SizedTensor>): void => {
  const found = /^(.+)\.lora_([ab])$/.exec(name);
  if (found === null) throw new GgufFault(`tensor ${name} is no part of a LoRA adapter`);
  const [, base, half] = found;
  const partner = byName.get(`${base}.lora_${half === 'a' ? 'b' : 'a'}`);
  if (partner === undefined) throw new GgufFault(`tensor ${name} has no partner`);
  if (dimensions.length !== 2) throw new GgufFault(`tensor ${name} is no matrix`);
  if (!isWeightType(type)) throw new GgufFault(`tensor ${name} of type ${nameOf(type)} cannot be computed with`);
  const [a, b] = half === 'a' ? [dimensions, partner.dimensions] : [partner.dimensions, dimensions];
  if (a[1] !== b[0]) throw new GgufFault(`the pair of tensor ${name} has the ranks ${a[1]} and ${b[0]}`);
};
