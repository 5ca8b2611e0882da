import type { JsonValue } from '../../base/index.js';

const containerBytes = 32;
const slotBytes = 8;

/** About how many bytes a value takes by itself, without the values it refers to. */
export const bytesOf = {
  array: (items: number): number => containerBytes + slotBytes * items,
  object: (attributes: number): number => containerBytes + 2 * slotBytes * attributes,
  /** Of what a function has made. Attributes of an object are not counted one by one: a function makes no more than it was given. */
  result: (value: JsonValue): number => {
    if (typeof value === 'string') return 2 * value.length;
    if (Array.isArray(value)) return bytesOf.array(value.length);
    return typeof value === 'object' && value !== null ? 2 * containerBytes : 0;
  },
} as const;
