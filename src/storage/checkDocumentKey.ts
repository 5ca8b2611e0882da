import { storageError } from './errors.js';
import { isDocumentKey } from './isDocumentKey.js';

/** Accepts a document key or throws DOCUMENT_KEY_BAD. */
export function checkDocumentKey(key: unknown): string {
  if (typeof key === 'string' && isDocumentKey(key)) return key;
  throw storageError(
    'DOCUMENT_KEY_BAD',
    `illegal document key ${JSON.stringify(key)?.slice(0, 80)}: use 1 to 254 of A-Z a-z 0-9 _-:.@()+,=;$!*'%`,
  );
}
