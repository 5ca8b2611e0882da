import { expect, it } from 'vitest';
import { MemoryStore } from '../../test/support/MemoryStore.js';
import { utf8 } from '../base/index.js';
import { JobRecords } from './JobRecords.js';
import { keyLayout } from './KeyLayout.js';

it('jobs are there after a restart until they are done, and nothing else of the store is taken for one', async () => {
  const store = new MemoryStore();
  for (const name of ['clock', 'job', 'jobs/x', 'job0'])
    await store.commit([{ kind: 'put', key: keyLayout.meta(name), value: utf8.encode('{}') }]);
  const records = new JobRecords({ store });
  await records.put({ id: 'embed/7/vector', record: { query: 'ü' } });
  await records.put({ id: 'a', record: 1 });
  await records.put({ id: 'a', record: 2 });
  expect(new JobRecords({ store }).list(10)).toEqual([
    { id: 'a', record: 2 },
    { id: 'embed/7/vector', record: { query: 'ü' } },
  ]);
  expect(records.list(1)).toHaveLength(1);
  await records.remove('a');
  await records.remove('unknown');
  expect(records.list(10).map(({ id }) => id)).toEqual(['embed/7/vector']);
});
