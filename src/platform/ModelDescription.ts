/** What a model or adapter file says of itself; 0 where it has no such figure. */
export interface ModelDescription {
  /** `model`, `adapter`; undefined in older files, which are models. */
  readonly type: string | undefined;
  readonly architecture: string;
  /** The name its maker gave it. */
  readonly label: string | undefined;
  readonly parameters: number;
  /** Type of most of its weights. */
  readonly quantisation: string;
  readonly weightsBytes: number;
  readonly fileBytes: number;
  /** Of its training. */
  readonly contextTokensMax: number;
  readonly layers: number;
  readonly embeddingLength: number;
  /** Widest of its layers. */
  readonly feedForwardLength: number;
  readonly heads: number;
  readonly headsOfKeys: number;
  /** Of keys and values of one token over all layers, as an engine keeps them. */
  readonly kvBytesPerToken: number;
  /** Tokens. */
  readonly vocabulary: number;
  readonly hasChatTemplate: boolean;
  /** Reads a text as a whole and makes a vector of it. */
  readonly isEncoder: boolean;
}
