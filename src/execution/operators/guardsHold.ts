import { type Guard, isTrue } from '../../aql/index.js';
import type { Row } from '../Block.js';

/** Whether the branch that holds a lifted call or subquery is taken in this row. */
export function guardsHold(guards: readonly Guard[], row: Row): boolean {
  return guards.every(({ variable, wanted }) => isTrue(row[variable] ?? null) === wanted);
}
