import { expect, it } from 'vitest';
import type { Timestamp } from '../../storage/index.js';
import { ChangedKeys } from './ChangedKeys.js';

const at = (timestamp: number): Timestamp => timestamp as Timestamp;

it('a row that somebody wrote after the job is kept, and more rows than are remembered are all rows', () => {
  const changed = new ChangedKeys({ keysMax: 2 });
  changed.add('a', at(1));
  changed.settle('a', at(1));
  expect(changed.size).toBe(0);
  changed.add('a', at(2));
  changed.add('a', at(3));
  changed.settle('a', at(2));
  expect(changed.take()).toEqual(['a']);
  expect(changed.take()).toEqual([]);
  for (const key of ['a', 'b', 'c', 'd']) changed.add(key, at(4));
  expect(changed.size).toBeGreaterThan(2);
  changed.settle('d', at(4));
  expect(changed.take()).toBeUndefined();
  expect(changed.size).toBe(0);
});
