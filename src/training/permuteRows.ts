/**
 * Reorders the rows of a matrix whose output goes through the rotation of positions. PEFT files keep a head's pairs half a head apart
 * (i, i + half), GGUF llama models side by side (2i, 2i + 1). A matrix left as it was loads without an error and costs accuracy silently.
 */
export function permuteRows(
  values: Float32Array,
  size: { readonly rows: number; readonly columns: number; readonly heads: number },
): Float32Array {
  const { rows, columns, heads } = size;
  const headRows = rows / heads;
  const half = headRows / 2;
  const permuted = new Float32Array(values.length);
  for (let row = 0; row < rows; row++) {
    const within = row % headRows;
    const to = row - within + (within < half ? 2 * within : 2 * (within - half) + 1);
    permuted.set(values.subarray(row * columns, (row + 1) * columns), to * columns);
  }
  return permuted;
}
