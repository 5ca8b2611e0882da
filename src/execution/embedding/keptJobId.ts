import { type JsonValue, sha256Hex } from '../../base/index.js';
import type { CollectionRef } from '../../storage/index.js';
import { canonicalKey } from '../canonicalKey.js';

const digestCharacters = 12;

export interface KeptStatement {
  readonly collection: CollectionRef;
  readonly into: string;
  readonly query: string;
  readonly bindVars: { readonly [name: string]: JsonValue };
}

/** The name of what a kept job does: the same statement again is the same job, and another for the same attribute is one of its own. */
export function keptJobId({ collection, into, query, bindVars }: KeptStatement): string {
  const digest = sha256Hex(canonicalKey([query, bindVars])).slice(0, digestCharacters);
  return `embed:${collection.database}/${collection.name}/${collection.id}/${into}/${digest}`;
}
