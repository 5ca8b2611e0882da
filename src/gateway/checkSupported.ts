import { baseError } from '../base/index.js';

/** Whether a value asks for nothing: absent, off, zero, empty. */
const isNeutral = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  ['', 'false', '0', 'no', 'off', false, 0].includes(value as never) ||
  (typeof value === 'object' && Object.keys(value).length === 0);

/**
 * Refuses what ArangoDB knows and this version does not have, where ignoring it would mean something else than was asked for. Of other
 * unknown names nothing is said: drivers send many that change nothing. Error NOT_SUPPORTED with `param`.
 */
export function checkSupported(given: { readonly [name: string]: unknown }, names: readonly string[]): void {
  for (const name of names) {
    if (!Object.hasOwn(given, name) || isNeutral(given[name])) continue;
    throw baseError('NOT_SUPPORTED', `${name} is not supported; leave it out`, { data: { param: name } });
  }
}
