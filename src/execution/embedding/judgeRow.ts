import { attributeOf, isArray, toText } from '../../aql/index.js';
import { isObject, type JsonValue, sha256Hex } from '../../base/index.js';
import type { StoredDocument } from '../../storage/index.js';

/** What makes two vectors of one text the same. */
export interface EmbedRecipe {
  /** SHA-256 of the model's file. */
  readonly model: string;
  readonly dimensions: number;
  readonly normalize: boolean;
}

/** Where the vector stands in a row, and beside it what it was made of. */
export interface VectorPlace {
  readonly vector: string;
  readonly madeOf: string;
}

export const vectorPlace = (into: string): VectorPlace => ({ vector: into, madeOf: `${into}_of` });

export type RowVerdict =
  | { readonly kind: 'current' }
  /** No vector, or one of something else than this text. */
  | { readonly kind: 'stale'; readonly text: string; readonly digest: string }
  /** Its text is gone and the vector that was made of it is still there. */
  | { readonly kind: 'surplus' }
  /** It has no text. */
  | { readonly kind: 'empty' }
  /** What stands for its text is none. */
  | { readonly kind: 'unfit' };

/** What is to be done about a row whose text is `value`. A vector without the note of what it was made of counts as none. */
export function judgeRow(
  document: StoredDocument,
  value: JsonValue,
  aim: { readonly place: VectorPlace; readonly recipe: EmbedRecipe },
): RowVerdict {
  const { place, recipe } = aim;
  const madeOf = attributeOf(document, place.madeOf);
  if (value === null) return { kind: isObject(madeOf) ? 'surplus' : 'empty' };
  if (isArray(value)) return { kind: 'unfit' };
  const text = toText(value);
  const digest = sha256Hex(text);
  return isMadeOf(attributeOf(document, place.vector), madeOf, { digest, recipe }) ? { kind: 'current' } : { kind: 'stale', text, digest };
}

function isMadeOf(vector: JsonValue, madeOf: JsonValue, wanted: { readonly digest: string; readonly recipe: EmbedRecipe }): boolean {
  const { digest, recipe } = wanted;
  if (!isArray(vector) || vector.length !== recipe.dimensions || !isObject(madeOf)) return false;
  const given = noteOf(digest, recipe);
  return Object.entries(given).every(([name, value]) => attributeOf(madeOf, name) === value);
}

/** The note beside a vector. */
export const noteOf = (digest: string, { model, dimensions, normalize }: EmbedRecipe): { readonly [name: string]: JsonValue } => ({
  text: digest,
  model,
  dimensions,
  normalize,
});
