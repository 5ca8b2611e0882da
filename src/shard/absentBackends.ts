import { type EmbeddingBackend, platformError, type StepBackend } from '../platform/index.js';

const refuse = (what: string) => (): never => {
  throw platformError('MODEL_KIND_WRONG', `this engine has no ${what} model`);
};
const noChat = refuse('chat');
const noEmbedding = refuse('embedding');

const step: StepBackend = {
  facts: {
    vocabularySize: 1,
    sequencesMax: 1,
    contextTokens: 256,
    rowsMax: 256,
    outputsMax: 1,
    beginToken: 0,
    addsBeginToken: false,
    endTokens: new Set(),
    chatTemplate: '',
    beginText: '',
    endText: '',
    cutsAnywhere: false,
    kvBytesPerToken: 1,
    stateFacts: {},
  },
  tokenize: noChat,
  tokenBytes: noChat,
  decode: noChat,
  logits: noChat,
  truncateSequence: noChat,
  moveSequence: noChat,
  copySequence: noChat,
  sequenceLength: () => 0,
  exportSequence: noChat,
  importSequence: noChat,
  useAdapter: noChat,
  loadAdapter: noChat,
  unloadAdapter: noChat,
  close: () => undefined,
};

const embedding: EmbeddingBackend = {
  facts: {
    gives: 'vector',
    dimensions: 1,
    dimensionsShorter: [],
    textTokensMax: 1,
    passTokensMax: 1,
    packTokensMax: 1,
    vocabularySize: 1,
    beginTokens: [],
    endTokens: [],
    separatorTokens: [],
  },
  tokenize: noEmbedding,
  embed: noEmbedding,
  readPiece: noEmbedding,
  close: () => undefined,
};

/** What an engine of one model has in the place of the other: whatever is asked of it is refused, MODEL_KIND_WRONG. */
export const absentBackends = { step, embedding } as const;
