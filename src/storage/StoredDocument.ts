import type { JsonValue } from '../base/index.js';

/** A document as it is read: user attributes and `_key`, `_id`, `_rev`. Attribute names are data, `__proto__` included. */
export interface StoredDocument {
  readonly _key: string;
  readonly _id: string;
  readonly _rev: string;
  readonly [attribute: string]: JsonValue;
}
