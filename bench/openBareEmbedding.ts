import { assert } from '../src/base/index.js';
import { viewNative } from '../src/platform/node/llama/LlamaApi.js';
import { loadLlamaModel, type ModelFile } from '../src/platform/node/llama/LlamaModel.js';
import { NativeBatch } from '../src/platform/node/llama/NativeBatch.js';

const rowsMax = 512;
const textsMax = 16;
const poolingMean = 1;
const flashOff = 0;
const flashAuto = -1;

export interface BareEmbedding {
  /** One text a call in a context with the library's own choice of flash attention: what a loop over the library is. */
  readonly asItComes: (text: Int32Array) => Float32Array;
  /** The same without flash attention, whose kernel is slow below 64 rows: the best that the library does with one text. */
  readonly atItsBest: (text: Int32Array) => Float32Array;
  /** Several texts a call, at most 512 tokens together, with flash attention. */
  readonly pack: (texts: readonly Int32Array[]) => Float32Array[];
  readonly close: () => void;
}

/** The library alone: nothing is queued, scheduled or checked. */
export function openBareEmbedding(file: ModelFile): BareEmbedding {
  const { api, model } = loadLlamaModel(file);
  const open = (flash: number) => {
    const threads = { n_threads: 1, n_threads_batch: 1, flash_attn_type: flash };
    const rows = { n_ctx: rowsMax, n_batch: rowsMax, n_ubatch: rowsMax, n_seq_max: textsMax, kv_unified: true };
    const context = api.newContext(model, { ...api.contextDefaults(), ...threads, ...rows, pooling_type: poolingMean, embeddings: true });
    assert(context !== null, 'a context can be made');
    return context;
  };
  const [own, plain] = [open(flashAuto), open(flashOff)];
  const batch = new NativeBatch(api, rowsMax);
  const dimensions = api.embeddingLength(model);
  const run = (context: typeof own, texts: readonly Int32Array[]): Float32Array[] => {
    batch.clear();
    for (const [sequence, text] of texts.entries())
      for (const [position, token] of text.entries()) batch.add({ token, position, sequence, wantLogits: true });
    assert(batch.encode(context) === 0, 'a pass succeeds');
    return texts.map((_, sequence) => {
      const address = api.embeddingOfSequence(context, sequence);
      assert(address !== null, 'a text has a vector');
      return new Float32Array(viewNative(address, dimensions * 4)).slice();
    });
  };
  return {
    asItComes: (text) => run(own, [text])[0] as Float32Array,
    atItsBest: (text) => run(plain, [text])[0] as Float32Array,
    pack: (texts) => run(own, texts),
    close: () => {
      batch.free();
      for (const context of [own, plain]) api.freeContext(context);
      api.freeModel(model);
    },
  };
}
