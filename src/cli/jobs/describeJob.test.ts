import { expect, it } from 'vitest';
import { describeJob } from './describeJob.js';
import type { JobAnswer } from './JobAnswer.js';
import { JobBar } from './JobBar.js';

const job: JobAnswer = {
  job: 'embed:7',
  shard: 'shard-1',
  kind: 'embed',
  title: 'embed shop/items into vector',
  state: 'running',
  unit: 'rows',
  done: 1200,
  total: 5000,
  ratePerSecond: 96.4,
  secondsLeft: 39.4,
  startedAt: 1,
  seconds: 12.4,
};

it.each<[Partial<JobAnswer>, readonly string[]]>([
  [{}, ['running', '1200/5000 rows', '96.4 rows/s', '39 s left', 'embed:7']],
  [{ secondsLeft: 5 * 3600 + 61 }, ['running', '1200/5000 rows', '96.4 rows/s', '5 h 1 min left', 'embed:7']],
  [{ state: 'waiting', message: 'ENGINE_LOADING' }, ['waiting: ENGINE_LOADING', '1200/5000 rows', '96.4 rows/s', '', 'embed:7']],
  [{ state: 'done', done: 5000, seconds: 130 }, ['done', '5000/5000 rows', '96.4 rows/s', 'took 2 min', '']],
  [{ kind: 'model', unit: 'percent', done: 40, total: 100 }, ['running', '40 %', '', '39 s left', '']],
])('a job tells how far it is: %o', (changes, cells) => {
  const { secondsLeft, ...others } = { ...job, ...changes };
  const told = changes.state === undefined ? { ...others, secondsLeft } : others;
  expect(describeJob(told as JobAnswer)).toEqual(['shard-1', 'embed shop/items into vector', ...cells]);
});

it('the bar of a statement adds up its shards and takes nothing of others', () => {
  const written: string[] = [];
  const bar = new JobBar({ write: (text) => written.push(text), before: [{ ...job, job: 'embed:1' }] });
  bar.update([{ ...job, job: 'embed:1' }]);
  expect(written).toEqual([]);
  bar.update([{ ...job, job: 'embed:1' }, job, { ...job, shard: 'shard-2', done: 50, total: 1000, ratePerSecond: 3.6, secondsLeft: 200 }]);
  expect(written.at(-1)).toContain('1250/6000 rows  100.0 rows/s  3 min left');
  bar.end();
  expect(written.at(-1)).toBe('\r\u001b[K');
});
