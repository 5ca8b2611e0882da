import { attributeOf } from '../aql/index.js';
import { isObject, type JsonValue } from '../base/index.js';
import { checkDocumentKey } from '../storage/index.js';

/**
 * The key of the document that UPDATE, REPLACE or REMOVE names: a key, an id `collection/key`, or an object with `_key` or `_id`.
 * Error DOCUMENT_KEY_BAD for anything else, an id of another collection included.
 */
export function documentKeyOf(subject: JsonValue, collection: string): string {
  const named = isObject(subject) ? (attributeOf(subject, '_key') ?? attributeOf(subject, '_id')) : subject;
  const prefix = `${collection}/`;
  return checkDocumentKey(typeof named === 'string' && named.startsWith(prefix) ? named.slice(prefix.length) : named);
}
