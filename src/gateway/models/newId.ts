import type { Random } from '../../platform/index.js';

/** An id such as `chatcmpl-…`: what stands before it, and 64 random bits. */
export function newId(prefix: string, random: Random): string {
  return prefix + [random.uint32(), random.uint32()].map((half) => half.toString(36).padStart(7, '0')).join('');
}
