/** Shape of a llama-architecture model as far as its adapters depend on it. */
export interface ModelShape {
  readonly layers: number;
  /** Values of a token between the layers. */
  readonly width: number;
  readonly feedForwardWidth: number;
  readonly heads: number;
  /** Heads of keys and values; divides `heads`. */
  readonly headsOfKeys: number;
  readonly vocabularySize: number;
  /** Positions the model was trained on. */
  readonly contextTokens: number;
}

/** The matrices of a layer that an adapter may change, by their GGUF names. */
export type LinearName = 'attn_q' | 'attn_k' | 'attn_v' | 'attn_output' | 'ffn_gate' | 'ffn_up' | 'ffn_down';

/** Token ids of a question and its answer; the answer begins at `promptTokens` and holds at least one token. */
export interface TrainingSequence {
  readonly tokens: Int32Array;
  readonly promptTokens: number;
}

/** One matrix of an adapter, `rows` × `columns`, row after row. Both arrays are the backend's memory, valid until it is closed. */
export interface TrainableTensor {
  /** As in the GGUF file: `blk.0.attn_q.weight.lora_a`. */
  readonly name: string;
  readonly columns: number;
  readonly rows: number;
  readonly values: Float32Array;
  readonly gradient: Float32Array;
}

/**
 * A frozen model with a trainable LoRA adapter (R29). Calls do not overlap. The same values and sequences give the same bits on one
 * machine. A fault of native code ends the process: run it in one of its own.
 */
export interface TrainingBackend {
  readonly shape: ModelShape;
  /** Pairs in the order of the layers: the low-rank input matrix, then the output matrix. */
  readonly tensors: readonly TrainableTensor[];
  /**
   * Loss (−ln of the probability) of every answer token, sequence after sequence. With a `gradientScale` other than 0 the gradient of
   * their sum, times the scale, is added to `gradient` of each tensor.
   */
  run(sequences: readonly TrainingSequence[], gradientScale: number): Promise<Float32Array>;
  /** Frees the memory once a running call has ended. */
  close(): Promise<void>;
}
