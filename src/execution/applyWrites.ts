import { attributeOf, type ModificationNode, type ModificationOptions } from '../aql/index.js';
import { type JsonValue, OstrakaError, type OstrakaErrorJson } from '../base/index.js';
import type { CollectionRef, Transaction, WriteResult } from '../storage/index.js';
import { type Insert, insertDocument } from './insertDocument.js';

type Attributes = { readonly [name: string]: JsonValue };

/** One row's change. `document` is the new document or the patch; for an insert it has its `_key`. */
export interface DocumentWrite {
  readonly key: string;
  readonly document?: Attributes;
  /** With ignoreRevs false: the revision that the document must have. */
  readonly revision?: string;
}

export type WriteOutcome =
  | { readonly kind: 'written'; readonly new: JsonValue; readonly old: JsonValue }
  /** INSERT with overwriteMode ignore met a document. */
  | { readonly kind: 'ignored' }
  | { readonly kind: 'error'; readonly error: OstrakaErrorJson };

export interface WriteStatement {
  readonly kind: ModificationNode['kind'];
  readonly options: ModificationOptions;
}

/**
 * Makes the changes in a shard's local transaction, in order, synchronously. A change that fails is an outcome with ignoreErrors, else it
 * is thrown; errors are the store's.
 */
export function applyWrites(
  transaction: Transaction,
  collection: CollectionRef,
  statement: WriteStatement & { readonly writes: readonly DocumentWrite[] },
): readonly WriteOutcome[] {
  return statement.writes.map((write) => applyOne(transaction, collection, statement, write));
}

function applyOne(transaction: Transaction, collection: CollectionRef, statement: WriteStatement, write: DocumentWrite): WriteOutcome {
  try {
    const result = change(transaction, collection, statement, write);
    if (result === undefined) return { kind: 'ignored' };
    return { kind: 'written', new: result.new ?? null, old: result.old ?? null };
  } catch (error) {
    if (!(error instanceof OstrakaError) || !statement.options.ignoreErrors) throw error;
    return { kind: 'error', error: error.toJson() };
  }
}

function change(
  transaction: Transaction,
  collection: CollectionRef,
  statement: WriteStatement,
  write: DocumentWrite,
): WriteResult | undefined {
  const { kind, options } = statement;
  const { key, document = {} } = write;
  const condition = write.revision === undefined ? {} : { revision: write.revision };
  switch (kind) {
    case 'Insert':
      return insert(transaction, collection, { key, document, options });
    case 'Update':
      return transaction.update(collection, key, document, options, condition);
    case 'Replace':
      return transaction.replace(collection, key, document, condition);
    case 'Remove':
      return transaction.remove(collection, key, condition);
  }
}

function insert(transaction: Transaction, collection: CollectionRef, given: Insert): WriteResult | undefined {
  const result = insertDocument(transaction, collection, given);
  return 'kept' in result ? undefined : result;
}

/** The revision that a change asks for: its subject's, where the statement heeds revisions. */
export function revisionOfSubject(subject: JsonValue, options: ModificationOptions): { readonly revision?: string } {
  const revision = options.ignoreRevs ? null : attributeOf(subject, '_rev');
  return typeof revision === 'string' ? { revision } : {};
}
