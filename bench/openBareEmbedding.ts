import { assert } from '../src/base/index.js';
import { viewNative } from '../src/platform/node/llama/LlamaApi.js';
import { loadLlamaModel, type ModelFile } from '../src/platform/node/llama/LlamaModel.js';
import { NativeBatch } from '../src/platform/node/llama/NativeBatch.js';

const rowsMax = 512;
const poolingMean = 1;

/** The library as it comes: one context with its own choice of flash attention, one text a call, no checks. */
export function openBareEmbedding(file: ModelFile): { readonly embed: (text: Int32Array) => Float32Array; readonly close: () => void } {
  const { api, model } = loadLlamaModel(file);
  const threads = { n_threads: 1, n_threads_batch: 1 };
  const rows = { n_ctx: rowsMax, n_batch: rowsMax, n_ubatch: rowsMax };
  const context = api.newContext(model, { ...api.contextDefaults(), ...threads, ...rows, pooling_type: poolingMean, embeddings: true });
  assert(context !== null, 'a context can be made');
  const batch = new NativeBatch(api, rowsMax);
  const dimensions = api.embeddingLength(model);
  return {
    embed: (text) => {
      batch.clear();
      for (const [position, token] of text.entries()) batch.add({ token, position, sequence: 0, wantLogits: true });
      assert(batch.encode(context) === 0, 'a pass succeeds');
      const address = api.embeddingOfSequence(context, 0);
      assert(address !== null, 'a text has a vector');
      return new Float32Array(viewNative(address, dimensions * 4)).slice();
    },
    close: () => {
      batch.free();
      api.freeContext(context);
      api.freeModel(model);
    },
  };
}
