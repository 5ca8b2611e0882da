import type { ModelDescription } from '../platform/index.js';

/** Bytes that an engine holds once it is warm, by what holds them. */
export interface EngineMemory {
  /** Files of the weights; engines of one machine share them. */
  readonly weightsBytes: number;
  /** Cells of keys and values, all sequences at their full length: taken at the start. */
  readonly cellsBytes: number;
  /** Buffers of a pass. */
  readonly computeBytes: number;
  readonly logitsBytes: number;
  /** Node.js, the native libraries, vocabularies. */
  readonly processBytes: number;
  readonly totalBytes: number;
}

/** Of a model, what the estimate goes by. */
export type ModelFigures = Pick<ModelDescription, 'fileBytes' | 'embeddingLength' | 'feedForwardLength' | 'kvBytesPerToken' | 'vocabulary'>;

export interface EngineShape {
  /** Absent = the embedding model alone. */
  readonly chat?: ModelFigures | undefined;
  /** Absent = the chat model alone. */
  readonly embedding?: ModelFigures | undefined;
  readonly sequences: number;
  /** Tokens a sequence. */
  readonly contextTokens: number;
}

// The figures of LlamaStepBackend and LlamaEmbeddingBackend: rows of the largest pass, and that contexts are rounded up.
const rowsMax = 256;
const draftOutputs = 32;
const packRowsMax = 512 + 64;
const contextMultiple = 256;
const floatBytes = 4;
// Measured with the default models: what a warm engine holds beyond all else here (RSS 1.08 GB in all).
const processBytes = 160e6;

/**
 * What an engine needs before it is started (R18). Measured against it: the resident set of a warm engine with the default models is
 * within 5 %. The store of prefixes (`inference.kvStoreBytesMax`) fills later and is not counted.
 */
export function estimateEngineMemory({ chat, embedding, sequences, contextTokens }: EngineShape): EngineMemory {
  const cells = sequences * Math.ceil(contextTokens / contextMultiple) * contextMultiple;
  const parts = {
    weightsBytes: (chat?.fileBytes ?? 0) + (embedding?.fileBytes ?? 0),
    cellsBytes: cells * (chat?.kvBytesPerToken ?? 0),
    computeBytes: rowsMax * rowBytes(chat) + packRowsMax * rowBytes(embedding),
    logitsBytes: 2 * Math.min(rowsMax, sequences + draftOutputs) * (chat?.vocabulary ?? 0) * floatBytes, // the graph's and the caller's
    processBytes,
  };
  return { ...parts, totalBytes: Object.values(parts).reduce((total, bytes) => total + bytes, 0) };
}

/** The widest tensors of a layer that are alive at once: input, attention's, and the gated pair with its product. */
const rowBytes = (model: ModelFigures | undefined): number =>
  model === undefined ? 0 : floatBytes * (4 * model.embeddingLength + 3 * model.feedForwardLength);
