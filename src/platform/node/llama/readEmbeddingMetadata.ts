import type { GgufContents } from './readGguf.js';

/** What a model's file says of its vectors. */
export interface EmbeddingMetadata {
  /** llama.cpp's number. */
  readonly poolingType: number | undefined;
  /** Lengths the model was trained to be cut to; under the name that model cards use, behind the architecture. */
  readonly dimensionsShorter: readonly number[];
  /** A row sees only those before it, as far as the file says. */
  readonly isCausal: boolean;
}

export function readEmbeddingMetadata({ metadata, lists }: Pick<GgufContents, 'metadata' | 'lists'>): EmbeddingMetadata {
  const nameOf = (name: string): string => `${metadata.get('general.architecture')}.${name}`;
  const poolingType = metadata.get(nameOf('pooling_type'));
  const lengths = lists.get(nameOf('matryoshka_dimensions'))?.numbers ?? [];
  return {
    poolingType: typeof poolingType === 'number' ? poolingType : undefined,
    dimensionsShorter: lengths.filter((length) => Number.isInteger(length) && length > 0),
    isCausal: metadata.get(nameOf('attention.causal')) !== false,
  };
}
