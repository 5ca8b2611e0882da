// ArangoDB's set of key characters; none of them is a zero byte, which the key layout relies on.
const keyPattern = /^[A-Za-z0-9_\-:.@()+,=;$!*'%]{1,254}$/;

/** Whether a document can have this key: what none can have is not looked up, since a key of the store has a length. */
export function isDocumentKey(key: string): boolean {
  return keyPattern.test(key);
}
