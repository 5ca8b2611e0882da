import { inferenceError } from '../errors.js';
import { templateLimits } from './templateLimits.js';

/** A value as the interpreter of templates keeps it. */
export interface TemplateValue {
  readonly type: string;
  /** A list of values or a map of them by name, where it holds some. */
  readonly value: unknown;
}

interface Size {
  readonly weight: number;
  /** Of lists and mappings inside each other. */
  readonly levels: number;
}

const smallest: Size = { weight: 1, levels: 0 };
const sizes = new WeakMap<object, Size>();

/**
 * The size of a value of a template as if it were written out: one for itself, its characters, and what it holds, as often as it is held.
 * Errors: CHAT_REFUSED, where that is more than `charactersMax` or nests too deeply.
 */
export function weigh(value: TemplateValue | undefined): number {
  return sizeOf(value).weight;
}

const sizeOf = (value: TemplateValue | undefined): Size => {
  const held: unknown = value?.value;
  if (typeof held === 'string') return { weight: checked(1 + held.length), levels: 0 };
  if (value === undefined || !(Array.isArray(held) || held instanceof Map)) return smallest;
  const found = sizes.get(value);
  if (found !== undefined) return found;
  const size = sizeOfItems(held);
  if (value.type !== 'NamespaceValue') sizes.set(value, size); // the one kind that changes
  return size;
};

const sizeOfItems = (items: readonly unknown[] | ReadonlyMap<unknown, unknown>): Size => {
  let { weight, levels } = smallest;
  for (const [name, each] of items.entries()) {
    const item = each as TemplateValue | undefined;
    if (item?.type === 'NamespaceValue') throw inferenceError('CHAT_REFUSED', 'the chat template keeps a namespace inside another value');
    const size = sizeOf(item);
    weight = checked(weight + size.weight + (typeof name === 'string' ? name.length : 0));
    levels = Math.max(levels, size.levels);
  }
  if (levels >= templateLimits.valueNestingMax)
    throw inferenceError('CHAT_REFUSED', `the chat template makes values that nest deeper than ${templateLimits.valueNestingMax}`);
  return { weight, levels: levels + 1 };
};

const checked = (weight: number): number => {
  if (weight <= templateLimits.charactersMax) return weight;
  throw inferenceError('CHAT_REFUSED', `the chat template makes more than ${templateLimits.charactersMax} characters`);
};
