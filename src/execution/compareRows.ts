import type { SortKey } from '../aql/index.js';
import { compareValues } from '../base/index.js';
import type { Row } from './Block.js';

/** The order of rows by sort keys. */
export function compareRows(keys: readonly SortKey[]): (left: Row, right: Row) => number {
  return (left, right) => {
    for (const { variable, ascending } of keys) {
      const order = compareValues(left[variable], right[variable]);
      if (order !== 0) return ascending ? order : -order;
    }
    return 0;
  };
}
