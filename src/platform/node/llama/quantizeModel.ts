import { platformError } from '../../index.js';
import { LlamaApi } from './LlamaApi.js';

/** Rewrites a GGUF model with 8-bit weights (Q8_0); deterministic. `to` must be a temporary name: a failure leaves part of a file. Errors: MODEL_INVALID. */
export function quantizeModel(request: { readonly from: string; readonly to: string }): void {
  const status = LlamaApi.open().quantize(request.from, request.to);
  if (status !== 0) throw platformError('MODEL_INVALID', `llama.cpp could not requantise ${request.from} (status ${status})`);
}
