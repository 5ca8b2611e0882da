import type { ModelDescription } from '../../src/platform/index.js';

/** What the file of a toy model would say: figures of the size of the default chat model. */
export const toyDescription: ModelDescription = {
  type: 'model',
  architecture: 'toy',
  label: 'toy',
  parameters: 134_515_008,
  quantisation: 'q8_0',
  weightsBytes: 143_025_408,
  fileBytes: 144_811_072,
  contextTokensMax: 8192,
  layers: 30,
  embeddingLength: 576,
  feedForwardLength: 1536,
  heads: 9,
  headsOfKeys: 3,
  kvBytesPerToken: 23_040,
  vocabulary: 49_152,
  hasChatTemplate: true,
  isEncoder: false,
};
