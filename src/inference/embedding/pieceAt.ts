import type { TextPiece } from '../../platform/index.js';

/** The piece of a text that begins at `from`: pieces are of like length, since a last one of few rows would take another kernel. */
export function pieceAt(from: number, given: { readonly length: number; readonly rowsMax: number }): TextPiece {
  const rowsLeft = given.length - from;
  return { from, to: from + Math.ceil(rowsLeft / Math.ceil(rowsLeft / given.rowsMax)) };
}
