import { assert } from '../../../base/index.js';
import { platformError } from '../../index.js';
import { openLlamaApi } from './LlamaApi.js';

export interface QuantizeRequest {
  readonly from: string;
  /** A temporary name: a failure leaves part of a file. */
  readonly to: string;
  /** llama.cpp's number of the file type. */
  readonly fileType: number;
}

/** Rewrites a GGUF model with other weights; deterministic, about a second for 100 MB. Blocks; a fault of native code ends the process. Errors: MODEL_INVALID. */
export function quantizeModel({ from, to, fileType }: QuantizeRequest): void {
  const api = openLlamaApi();
  const defaults = api.quantizeDefaults();
  assert(defaults.ftype === 7 || defaults.ftype === 9, 'the quantisation parameters have the layout declared here', {
    ftype: defaults.ftype,
  });
  const status = api.quantize(from, to, { ...defaults, nthread: 1, ftype: fileType, allow_requantize: true });
  if (status !== 0) throw platformError('MODEL_INVALID', `llama.cpp could not quantise ${from} (status ${status})`);
}
