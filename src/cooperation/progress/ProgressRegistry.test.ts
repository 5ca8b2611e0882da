import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../test/support/ManualClock.js';
import { asId, type ShardId } from '../../base/index.js';
import { type EngineConfig, type EngineLauncher, type LaunchedEngine, noModel, platformError } from '../../platform/index.js';
import { cooperationOptions } from '../options.js';
import { ProgressRegistry } from './ProgressRegistry.js';
import { ReportingLauncher } from './ReportingLauncher.js';

const open = (options: object = {}) => {
  const clock = new ManualClock();
  const registry = new ProgressRegistry({ shardId: asId<ShardId>('shard-1'), clock, options: cooperationOptions.parse(options) });
  return { clock, registry };
};
const rows = { kind: 'embed', title: 'embed c', unit: 'rows' } as const;

describe('ProgressRegistry (R38)', () => {
  it('tells of what takes over a second: how far, how fast, how long it will take, and how it ended', async () => {
    const { clock, registry } = open();
    const job = registry.start({ job: 'j', ...rows });
    job.update({ done: 0, total: 100 });
    await clock.advance(999);
    expect(registry.list()).toEqual([]);
    await clock.advance(1);
    job.update({ done: 20 });
    expect(registry.list()).toMatchObject([
      { job: 'j', shard: 'shard-1', state: 'running', done: 20, total: 100, ratePerSecond: 20, secondsLeft: 4, seconds: 1 },
    ]);
    job.wait('ENGINE_LOADING');
    expect(registry.list()[0]).toMatchObject({ state: 'waiting', message: 'ENGINE_LOADING' });
    expect(registry.list()[0]).not.toHaveProperty('secondsLeft');
    await clock.advance(3_000);
    job.update({ done: 100 });
    job.end('done');
    job.end('failed', 'too late');
    expect(registry.list()).toMatchObject([{ state: 'done', done: 100, ratePerSecond: 25, seconds: 4 }]);
  });

  it('takes no speed from rows that needed no work', async () => {
    const { clock, registry } = open();
    const job = registry.start(rows);
    job.update({ done: 1_000, total: 1_100, skipped: 1_000 });
    await clock.advance(1_000);
    job.update({ done: 1_010, skipped: 1_000 });
    expect(registry.list()).toMatchObject([{ job: 'shard-1:embed:1', ratePerSecond: 10, secondsLeft: 9 }]);
  });

  it('forgets what was over at once, and keeps a bounded number of either kind', async () => {
    const { clock, registry } = open({ jobsListedMax: 2 });
    registry.start(rows).end('done');
    const jobs = ['a', 'b', 'c'].map((job) => registry.start({ job, ...rows }));
    await clock.advance(2_000);
    expect(registry.list().map(({ job }) => job)).toEqual(['b', 'a']);
    for (const job of jobs) job.end('done');
    const last = registry.start({ job: 'd', ...rows });
    await clock.advance(2_000);
    last.end('cancelled');
    expect(registry.list().map(({ job, state }) => [job, state])).toEqual([
      ['d', 'cancelled'],
      ['b', 'done'],
    ]);
  });
});

describe('ReportingLauncher (R38)', () => {
  const model = (name: string) => ({ name, path: name, digest: '' });
  const config = (chat: string): EngineConfig => ({
    chatModel: model(chat),
    embeddingModel: model('minilm'),
    sequences: 1,
    contextTokens: 1,
    threads: 1,
    queueRequestsMax: 1,
  });

  it('shows how far the models of an engine are loaded, and what became of it', async () => {
    const { clock, registry } = open();
    const seen: unknown[] = [];
    const launcher: EngineLauncher = {
      launch: async ({ chatModel }, _signal, onProgress) => {
        await clock.advance(1_500);
        onProgress?.({ phase: 'embedding model', percent: 40 });
        seen.push(...registry.list());
        if (chatModel.name === 'broken') throw platformError('MODEL_INVALID', 'broken');
        return {} as LaunchedEngine;
      },
    };
    const reporting = new ReportingLauncher({ launcher, progress: registry });
    const { signal } = new AbortController();
    await reporting.launch(config(noModel.name), signal, (progress) => seen.push(progress));
    await expect(reporting.launch(config('broken'), signal)).rejects.toMatchObject({ code: 'MODEL_INVALID' });
    expect(seen).toMatchObject([
      { phase: 'embedding model' },
      { kind: 'model', title: 'load minilm', done: 38, total: 100, unit: 'percent' },
      { title: 'load broken and minilm', done: 67 },
      { title: 'load minilm', state: 'done' },
    ]);
    expect(registry.list()[0]).toMatchObject({ title: 'load broken and minilm', state: 'failed', message: 'MODEL_INVALID' });
  });
});
