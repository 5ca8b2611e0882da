import type { JsonValue } from '../../base/index.js';
import { isArray } from './valueKinds.js';

const decimal = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

/** TO_NUMBER: null and false 0, true 1, decimal text its number, other text 0, an array of one value that value's number, else 0. */
export function toNumber(value: JsonValue): number {
  if (typeof value === 'number') return value;
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (typeof value === 'string') return textToNumber(value.trim());
  return isArray(value) && value.length === 1 ? toNumber(value[0] as JsonValue) : 0;
}

const textToNumber = (text: string): number => {
  const number = decimal.test(text) ? Number(text) : 0;
  return Number.isFinite(number) ? number : 0;
};
