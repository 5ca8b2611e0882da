import { assert } from '../../../base/index.js';
import { platformError } from '../../index.js';
import { openLlamaApi } from './LlamaApi.js';

/** llama.cpp's number of the file type Q8_0. */
const q8 = 7;

/**
 * Rewrites a GGUF model with 8-bit weights (Q8_0); deterministic, about a second for 100 MB. `to` must be a temporary name: a failure
 * leaves part of a file. Errors: MODEL_INVALID.
 */
export function quantizeModel(request: { readonly from: string; readonly to: string }): void {
  const api = openLlamaApi();
  const defaults = api.quantizeDefaults();
  assert(defaults.ftype === 7 || defaults.ftype === 9, 'the quantisation parameters have the layout declared here', {
    ftype: defaults.ftype,
  });
  const status = api.quantize(request.from, request.to, { ...defaults, nthread: 1, ftype: q8, allow_requantize: true });
  if (status !== 0) throw platformError('MODEL_INVALID', `llama.cpp could not requantise ${request.from} (status ${status})`);
}
