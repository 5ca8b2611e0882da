import type { AdapterIdentity } from './AdapterIdentity.js';

/** What a chat template needs to know of a model. */
export interface TemplateFacts {
  /** Tokens that end a turn or a text. */
  readonly endTokens: ReadonlySet<number>;
  /** Source of the model's chat template (Jinja); empty when the file has none. */
  readonly chatTemplate: string;
  readonly beginText: string;
  readonly endText: string;
}

/** Facts of a loaded chat model that the scheduler and the templates need. */
export interface BackendFacts extends TemplateFacts {
  readonly vocabularySize: number;
  readonly sequencesMax: number;
  /** Tokens one sequence can hold. */
  readonly contextTokens: number;
  /** Rows of the largest prefill piece with its folded remainder; a multiple of 64 (rule R of the scheduler). */
  readonly rowsMax: number;
  /** Rows of a call that may want logits; at least one a sequence. */
  readonly outputsMax: number;
  readonly beginToken: number;
  /** The model was trained with the begin token before every text. */
  readonly addsBeginToken: boolean;
  /**
   * A sequence may be cut at any position and go on from there with the same bits. False for models that keep a running state or forget
   * behind a sliding window: their prefixes are never reused.
   */
  readonly cutsAnywhere: boolean;
  /** Of keys and values: 2 × layers × heads × head size × bytes (E9). */
  readonly kvBytesPerToken: number;
  /**
   * By name, all that must be equal beside model, adapter and tokens for exported rows to be taken by another engine and to give the same
   * bits there (E4): library and processor, tokenizer, types of keys and values, context and rope settings, streams.
   */
  readonly stateFacts: { readonly [name: string]: string };
}

export interface BackendRow {
  readonly token: number;
  readonly position: number;
  readonly sequence: number;
  readonly wantLogits: boolean;
}

/**
 * The model inside the engine child, synchronous (R18). Rows of one `decode` are passed in ascending sequence order; what may share a
 * call is the scheduler's business (rule R). Inputs are checked before native code sees them: out-of-range tokens, sequences, positions,
 * row counts throw INTERNAL, since the library would abort the process.
 * Errors: ENGINE_STEP_FAILED (the call's sequences must be dropped), ADAPTER_INVALID.
 */
export interface StepBackend {
  readonly facts: BackendFacts;
  /** Ids of a text. `parseSpecial` only for template parts, never for user text. No begin token is added. */
  tokenize(text: string, options: { readonly parseSpecial: boolean }): Int32Array;
  /** Bytes of one token as they appear in text (control tokens: none). Pieces may end inside a UTF-8 character. */
  tokenBytes(token: number): Uint8Array;
  /** One forward pass over the rows. */
  decode(rows: readonly BackendRow[]): void;
  /** Logits of row `rowIndex` (counted over all rows) of the last decode, which must have wanted them; a view valid until the next decode. At most `outputsMax` rows may want logits. */
  logits(rowIndex: number): Float32Array;
  /** Drops positions >= `fromPosition` of a sequence. */
  truncateSequence(sequence: number, fromPosition: number): void;
  /** Gives a sequence's contents to another id, which must be empty; `from` is empty afterwards. The next logits are the same bits. */
  moveSequence(from: number, to: number): void;
  /** Gives a copy of a sequence's contents to an empty id. The next logits of both are the same bits. */
  copySequence(from: number, to: number): void;
  /** Positions that the model itself holds of a sequence: what the accounting of pages is reconciled with. */
  sequenceLength(sequence: number): number;
  /** The contents of a sequence as bytes of host memory, for this model, build and context alone. */
  exportSequence(sequence: number): Uint8Array;
  /**
   * Fills an empty sequence with exported bytes of `length` positions; the next logits are the same bits as before the export. Bytes of
   * another form are refused and leave the sequence empty: KV_STATE_INVALID. Flipped bits are not noticed: callers keep a checksum where
   * bytes leave the process.
   */
  importSequence(sequence: number, state: Uint8Array, length: number): void;
  /** Adapter for all rows of the next decodes, with its scale; null = base model. */
  useAdapter(adapter: AdapterIdentity | null): void;
  /** Reads and checks a LoRA file, once however many scales of it are used. Refused when `digest` is given and is not its SHA-256. */
  loadAdapter(adapter: { readonly path: string; readonly digest?: string }): { readonly digest: string };
  /** Frees the file. */
  unloadAdapter(digest: string): void;
  close(): void;
}

/** Tokens of a text from `from` up to, but not with, `to`. */
export interface TextPiece {
  readonly from: number;
  readonly to: number;
}

export interface EmbeddingFacts {
  /** What a pass gives for a text: its vector, or, of a cross-encoder and a pair of texts, how well they fit as one number on a log-odds scale. */
  readonly gives: 'vector' | 'score';
  readonly dimensions: number;
  /** Shorter lengths that the model was trained to be cut to (Matryoshka). */
  readonly dimensionsShorter: readonly number[];
  readonly textTokensMax: number;
  /** The longest text that one pass reads; a longer one is read in pieces. Of an encoder, which sees a text as a whole: `textTokensMax`. */
  readonly passTokensMax: number;
  /** Rows of a pack of texts together, and of a piece. */
  readonly packTokensMax: number;
  readonly vocabularySize: number;
  /** What the model wants before and after every text, and between the texts of a pair. */
  readonly beginTokens: readonly number[];
  readonly endTokens: readonly number[];
  readonly separatorTokens: readonly number[];
}

/** The embedding model inside the engine child, synchronous. A vector is the same alone or in a batch up to 1e-6 cosine distance (R23). */
export interface EmbeddingBackend {
  readonly facts: EmbeddingFacts;
  /** Ids of a text between the begin and end tokens; at least one. */
  tokenize(text: string): Int32Array;
  /**
   * One pass over several texts whose tokens together are <= `packTokensMax`, or over one text of <= `passTokensMax`. In order, for each a
   * vector as the model gives it, or one score.
   */
  embed(texts: readonly Int32Array[]): Float32Array[];
  /**
   * One pass over the next piece of a longer text, of <= `packTokensMax` tokens; its vector with the last piece, else undefined. One text is
   * read at a time: `from` 0 forgets the one before, whether it ended or not. Passes over other texts may come between two pieces.
   */
  readPiece(text: Int32Array, piece: TextPiece): Float32Array | undefined;
  close(): void;
}
