import type { ModelDescription } from '../platform/index.js';
import { textTokensOf } from './textTokensOf.js';

/** Bytes that an engine holds once it is warm, by what holds them. */
export interface EngineMemory {
  /** Files of the weights; engines of one machine share them. */
  readonly weightsBytes: number;
  /** Cells of keys and values, all sequences at their full length, and of a decoder that embeds: taken at the start. */
  readonly cellsBytes: number;
  /** Buffers of a pass. */
  readonly computeBytes: number;
  readonly logitsBytes: number;
  /** Node.js, the native libraries, vocabularies. */
  readonly processBytes: number;
  readonly totalBytes: number;
}

/** Of a model, what the estimate goes by. */
export type ModelFigures = Pick<
  ModelDescription,
  'fileBytes' | 'embeddingLength' | 'feedForwardLength' | 'kvBytesPerToken' | 'vocabulary' | 'heads' | 'contextTokensMax' | 'isEncoder'
>;

export interface EngineShape {
  /** Absent = the embedding model alone. */
  readonly chat?: ModelFigures | undefined;
  /** Absent = the chat model alone. */
  readonly embedding?: ModelFigures | undefined;
  readonly sequences: number;
  /** Tokens a sequence. */
  readonly contextTokens: number;
  /** Longest text to embed, where the model reads so long ones; absent = `longestTextDefault`. */
  readonly textTokens?: number | undefined;
}

// The figures of LlamaStepBackend and LlamaEmbeddingBackend: rows of the largest pass, and that contexts are rounded up.
const rowsMax = 256;
const draftOutputs = 32;
const [packRows, shortRows] = [128, 64];
const contextMultiple = 256;
const floatBytes = 4;
/** Who sees whom, as 32-bit and as 16-bit floats. */
const maskBytes = 4 + 2;
// Measured with the default models: what a warm engine holds beyond all else here (RSS 1.08 GB in all).
const processBytes = 160e6;

/**
 * What an engine needs before it is started (R18). Measured against it: the resident set of a warm engine with the default models is
 * within 5 %. The store of prefixes (`inference.kvStoreBytesMax`) fills later and is not counted.
 */
export function estimateEngineMemory({ chat, embedding, sequences, contextTokens, textTokens }: EngineShape): EngineMemory {
  const reading = readingBytes(embedding, textTokens);
  const parts = {
    weightsBytes: (chat?.fileBytes ?? 0) + (embedding?.fileBytes ?? 0),
    cellsBytes: sequences * cellsOf(contextTokens) * (chat?.kvBytesPerToken ?? 0) + reading.cells,
    computeBytes: rowsMax * rowBytes(chat) + reading.compute,
    logitsBytes: 2 * Math.min(rowsMax, sequences + draftOutputs) * (chat?.vocabulary ?? 0) * floatBytes, // the graph's and the caller's
    processBytes,
  };
  return { ...parts, totalBytes: Object.values(parts).reduce((total, bytes) => total + bytes, 0) };
}

const cellsOf = (tokens: number): number => Math.ceil(tokens / contextMultiple) * contextMultiple;

/** What the contexts of an embedding model hold: an encoder reads its longest text in one pass, a decoder in pieces, and keeps them. */
const readingBytes = (model: ModelFigures | undefined, asked: number | undefined): { readonly cells: number; readonly compute: number } => {
  if (model === undefined) return { cells: 0, compute: 0 };
  const tokens = textTokensOf(model, asked);
  if (model.isEncoder) {
    const rows = Math.ceil(tokens / packRows) * packRows;
    return { cells: 0, compute: (rows + shortRows) * rowBytes(model) + rows * rows * maskBytes };
  }
  const cells = cellsOf(tokens) + cellsOf(packRows) + cellsOf(shortRows);
  const rows = 2 * packRows + shortRows;
  // llama.cpp computes a decoder's logits, too, and keeps them.
  const rowsBytes = rows * (rowBytes(model) + 2 * model.vocabulary * floatBytes);
  return { cells: cells * model.kvBytesPerToken, compute: rowsBytes + scoreBytes(model, tokens) };
};

/** Of a piece that looks back at all that was read. */
const scoreBytes = ({ heads }: ModelFigures, tokens: number): number => heads * packRows * cellsOf(tokens) * floatBytes;

/** The widest tensors of a layer that are alive at once: input, attention's, and the gated pair with its product. */
const rowBytes = (model: ModelFigures | undefined): number =>
  model === undefined ? 0 : floatBytes * (4 * model.embeddingLength + 3 * model.feedForwardLength);
