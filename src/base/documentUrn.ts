/** URN of a document (R4): `urn:ostraka:<database>:<collection>:<key>`. The ring hashes it (R5). */
export function documentUrn(database: string, collection: string, key: string): string {
  return `urn:ostraka:${database}:${collection}:${key}`;
}
