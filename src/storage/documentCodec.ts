import { type JsonValue, utf8 } from '../base/index.js';
import type { CollectionRef } from './CollectionRef.js';
import { storageError } from './errors.js';
import type { StoredDocument } from './StoredDocument.js';

/**
 * Bytes of a document: JSON of its attributes without `_id`, which follows from the collection. JSON because it keeps every attribute
 * name, `__proto__` too (docs/decisions/0003).
 */
export const documentCodec = {
  encode(document: { readonly [attribute: string]: JsonValue }, bytesMax: number): Uint8Array {
    const entries = Object.entries(document).filter(([name]) => name !== '_id');
    const bytes = utf8.encode(JSON.stringify(fromEntries(entries)));
    if (bytes.length <= bytesMax) return bytes;
    throw storageError('DOCUMENT_TOO_LARGE', `document of ${bytes.length} bytes is over the limit of ${bytesMax}`, {
      data: { bytes: bytes.length, bytesMax },
    });
  },
  decode(collection: CollectionRef, bytes: Uint8Array): StoredDocument {
    const attributes = JSON.parse(utf8.decode(bytes)) as { readonly [attribute: string]: JsonValue };
    const key = attributes['_key'] as string;
    return fromEntries([['_key', key], ['_id', `${collection.name}/${key}`], ...Object.entries(attributes)]) as unknown as StoredDocument;
  },
};

// Object.fromEntries defines properties (never calls the __proto__ setter), and the first position of a name wins the order.
const fromEntries = (entries: readonly (readonly [string, JsonValue])[]): { readonly [name: string]: JsonValue } =>
  Object.fromEntries(entries);
