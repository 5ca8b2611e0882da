import type { GgufFacts } from './readGguf.js';

/** What a model's file says of its vectors. */
export interface EmbeddingMetadata {
  /** llama.cpp's number. */
  readonly poolingType: number | undefined;
  /** Lengths the model was trained to be cut to; under the name that model cards use, behind the architecture. */
  readonly dimensionsShorter: readonly number[];
  /** A row sees only those before it, as far as the file says. */
  readonly isCausal: boolean;
}

export function readEmbeddingMetadata(metadata: GgufFacts['metadata']): EmbeddingMetadata {
  const own = (name: string) => metadata.get(`${metadata.get('general.architecture')}.${name}`);
  const [poolingType, lengths] = [own('pooling_type'), own('matryoshka_dimensions')];
  return {
    poolingType: typeof poolingType === 'number' ? poolingType : undefined,
    dimensionsShorter: Array.isArray(lengths) ? lengths.filter((length) => Number.isInteger(length) && length > 0) : [],
    isCausal: own('attention.causal') !== false,
  };
}
