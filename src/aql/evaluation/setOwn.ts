import type { JsonValue } from '../../base/index.js';

/** An object under construction. */
export type OpenObject = { [key: string]: JsonValue };

/** Sets an own property whatever its name: `__proto__` is data here and must not reach the prototype. */
export function setOwn(target: OpenObject, key: string, value: JsonValue): void {
  if (key !== '__proto__') target[key] = value;
  else Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
}
