import { storageError } from './errors.js';

// ArangoDB's set of key characters; none of them is a zero byte, which the key layout relies on.
const keyPattern = /^[A-Za-z0-9_\-:.@()+,=;$!*'%]{1,254}$/;

/** Accepts a document key or throws DOCUMENT_KEY_BAD. */
export function checkDocumentKey(key: unknown): string {
  if (typeof key === 'string' && keyPattern.test(key)) return key;
  throw storageError(
    'DOCUMENT_KEY_BAD',
    `illegal document key ${JSON.stringify(key)?.slice(0, 80)}: use 1 to 254 of A-Z a-z 0-9 _-:.@()+,=;$!*'%`,
  );
}
