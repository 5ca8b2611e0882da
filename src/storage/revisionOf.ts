import type { Timestamp } from './Timestamp.js';

/** `_rev` of a statement at a timestamp: fixed width, so that text order is time order (ARCHITECTURE: `_rev` = timestamp of the statement). */
export function revisionOf(timestamp: Timestamp): string {
  return `_${timestamp.toString(36).padStart(11, '0')}`;
}
