import { assert } from '../../base/index.js';
import { dotProduct } from './dotProduct.js';

/** The first numbers of a vector as the model gave it and, where wanted, of unit length then (R23). */
export function shapeVector(vector: Float32Array, shape: { readonly dimensions: number; readonly normalize: boolean }): Float32Array {
  assert(shape.dimensions <= vector.length, 'a vector is cut, never made longer', { ...shape, length: vector.length });
  const kept = vector.slice(0, shape.dimensions);
  if (!shape.normalize) return kept;
  const length = Math.sqrt(dotProduct(kept, kept));
  assert(Number.isFinite(length) && length > 0, 'a vector has a length');
  return kept.map((value) => value / length);
}
