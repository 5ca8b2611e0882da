/** The inner product; of unit vectors their cosine. */
export function dotProduct(left: Float32Array, right: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < left.length; i++) sum += (left[i] as number) * (right[i] as number);
  return sum;
}
