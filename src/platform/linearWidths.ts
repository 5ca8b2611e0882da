import type { LinearName, ModelShape } from './TrainingBackend.js';

/** How many values each matrix of a layer takes and gives. */
export function linearWidths(shape: ModelShape): Readonly<Record<LinearName, { readonly inputs: number; readonly outputs: number }>> {
  const { width, feedForwardWidth, heads, headsOfKeys } = shape;
  const keysWidth = (width / heads) * headsOfKeys;
  return {
    attn_q: { inputs: width, outputs: width },
    attn_k: { inputs: width, outputs: keysWidth },
    attn_v: { inputs: width, outputs: keysWidth },
    attn_output: { inputs: width, outputs: width },
    ffn_gate: { inputs: width, outputs: feedForwardWidth },
    ffn_up: { inputs: width, outputs: feedForwardWidth },
    ffn_down: { inputs: feedForwardWidth, outputs: width },
  };
}
