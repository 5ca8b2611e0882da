import type { ModelDescription } from '../../index.js';
import { GgufReading } from './GgufReading.js';
import { ggmlTypes } from './ggmlTypes.js';
import { ggufTypes } from './ggufTypes.js';
import type { GgufContents, SizedTensor } from './readGguf.js';

/** What a checked GGUF file says of itself. */
export function describeGguf(contents: GgufContents): ModelDescription {
  const reading = new GgufReading(contents);
  const { tensors, fileBytes } = contents;
  const own = (suffix: string): number => reading.u32(reading.own(suffix)) ?? 0;
  const sum = (figure: 'values' | 'bytes'): number => tensors.reduce((total, tensor) => total + tensor[figure], 0);
  return {
    type: reading.text('general.type'),
    architecture: reading.architecture,
    label: reading.text('general.name'),
    parameters: sum('values'),
    quantisation: mainType(tensors),
    weightsBytes: sum('bytes'),
    fileBytes,
    contextTokensMax: own('context_length'),
    layers: own('block_count'),
    embeddingLength: own('embedding_length'),
    feedForwardLength: Math.max(0, ...(reading.byLayer(reading.own('feed_forward_length')) ?? [])),
    heads: Math.max(0, ...(reading.byLayer(reading.own('attention.head_count')) ?? [])),
    ...cacheOf(reading),
    vocabulary: reading.list('tokenizer.ggml.tokens', [ggufTypes.text])?.count ?? 0,
    hasChatTemplate: (reading.text('tokenizer.chat_template') ?? '') !== '',
    isEncoder: reading.bool(reading.own('attention.causal')) === false,
  };
}

/** Heads of keys, and keys with values of a token over all layers, in f16 as contexts are opened. */
const cacheOf = (reading: GgufReading): { readonly headsOfKeys: number; readonly kvBytesPerToken: number } => {
  const layers = reading.u32(reading.own('block_count')) ?? 0;
  const heads = reading.byLayer(reading.own('attention.head_count')) ?? [];
  const ofKeys = reading.byLayer(reading.own('attention.head_count_kv')) ?? heads;
  const headSize = (reading.u32(reading.own('embedding_length')) ?? 0) / Math.max(1, ...heads);
  const keyLength = reading.u32(reading.own('attention.key_length')) ?? headSize;
  const valueLength = reading.u32(reading.own('attention.value_length')) ?? headSize;
  const headsOfAllLayers = ofKeys.length === 1 ? (ofKeys[0] as number) * layers : ofKeys.slice(0, layers).reduce((a, b) => a + b, 0);
  return { headsOfKeys: Math.max(0, ...ofKeys), kvBytesPerToken: headsOfAllLayers * (keyLength + valueLength) * 2 };
};

/** The type that most of the weights have. */
const mainType = (tensors: readonly SizedTensor[]): string => {
  const bytes = new Map<number, number>();
  for (const tensor of tensors) bytes.set(tensor.type, (bytes.get(tensor.type) ?? 0) + tensor.bytes);
  const [type] = [...bytes].reduce((best, one) => (one[1] > best[1] ? one : best), [0, 0]);
  return ggmlTypes.get(type)?.name ?? '';
};
