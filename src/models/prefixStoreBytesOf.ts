import type { JsonValue } from '../base/index.js';
import { type EngineConfig, prefixStoreBytesDefault } from '../platform/index.js';

/** What the store of prefixes of an engine may come to hold, by its configuration. */
export function prefixStoreBytesOf({ inference }: Pick<EngineConfig, 'inference'>): number {
  const bytes = isObject(inference) ? inference['kvStoreBytesMax'] : undefined;
  return typeof bytes === 'number' ? bytes : prefixStoreBytesDefault;
}

const isObject = (value: JsonValue | undefined): value is { readonly [name: string]: JsonValue } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
