import type { JsonValue, OstrakaErrorJson } from '../../base/index.js';
import type { StoredDocument } from '../../storage/index.js';

export interface DocumentOptions {
  readonly keepNull?: boolean | undefined;
  readonly mergeObjects?: boolean | undefined;
  /** The document must have this revision. */
  readonly revision?: string | undefined;
  /** What an insert does when the key exists; default `conflict`. */
  readonly overwriteMode?: 'ignore' | 'replace' | 'update' | 'conflict' | undefined;
}

/** One operation on one document. `document` holds the attributes of a write and is empty otherwise. */
export interface DocumentOperation {
  readonly kind: 'read' | 'insert' | 'update' | 'replace' | 'remove';
  readonly key: string;
  readonly document: { readonly [attribute: string]: JsonValue };
  readonly options: DocumentOptions;
  /** Which documents come back whole; of the others `_id`, `_key` and `_rev` do. A read always gives its document. */
  readonly returns?: { readonly new: boolean; readonly old: boolean } | undefined;
}

/** What it did: `new` after a write or of a read, `old` before it; whole where asked for. */
export type DocumentOutcome =
  | { readonly kind: 'done'; readonly new: StoredDocument | null; readonly old: StoredDocument | null }
  | { readonly kind: 'error'; readonly error: OstrakaErrorJson };
