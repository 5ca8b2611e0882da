/** Any JSON value. Objects may carry any key, `__proto__` included: build them with `Object.create(null)` or JSON.parse, never by merging. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | { readonly [key: string]: JsonValue };
