import type { ModificationOptions } from '../aql/index.js';
import type { JsonValue } from '../base/index.js';
import type { CollectionRef, StoredDocument, Transaction, WriteResult } from '../storage/index.js';

export interface Insert {
  /** With its `_key`. */
  readonly document: { readonly [name: string]: JsonValue };
  readonly key: string;
  readonly options: Pick<ModificationOptions, 'keepNull' | 'mergeObjects' | 'overwriteMode'>;
}

/**
 * INSERT in a shard's local transaction, by statement or by itself: what it does where the key exists is its overwriteMode. `kept` is the
 * document that stays there unchanged. Errors: the store's.
 */
export function insertDocument(
  transaction: Transaction,
  collection: CollectionRef,
  { key, document, options }: Insert,
): WriteResult | { readonly kept: StoredDocument } {
  const mode = options.overwriteMode;
  const present = mode === 'conflict' ? undefined : transaction.get(collection, key);
  if (!present) return transaction.insert(collection, document);
  if (mode === 'ignore') return { kept: present };
  if (mode === 'replace') return transaction.replace(collection, key, document);
  return transaction.update(collection, key, document, options);
}
