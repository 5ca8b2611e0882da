import type { Random } from '../../platform/index.js';

/** A key for a document that brings none: 26 hexadecimal digits of randomness; a collision is refused by the insert, never overwritten. */
export function newDocumentKey(random: Random): string {
  const part = (): string => random.uint32().toString(16).padStart(8, '0');
  return `${part()}${part()}${part()}${part().slice(0, 2)}`;
}
