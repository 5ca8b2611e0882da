import { baseError } from './errors.js';

/** Closes an exhaustive `switch`: a new member of the union is a type error here. */
export function assertNever(value: never): never {
  throw baseError('INTERNAL', `unexpected variant ${JSON.stringify(value)}`);
}
