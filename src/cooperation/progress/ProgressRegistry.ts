import type { ShardId } from '../../base/index.js';
import type { Clock } from '../../platform/index.js';
import type { CooperationOptions } from '../options.js';
import type { JobReport, JobState } from './JobReport.js';
import { ProgressRate } from './ProgressRate.js';

export interface JobStart {
  /** Absent = the registry makes one, of this shard alone. */
  readonly job?: string;
  readonly kind: JobReport['kind'];
  readonly title: string;
  readonly unit: JobReport['unit'];
}

/** How its owner tells of a job. */
export interface JobProgress {
  update(progress: { readonly done: number; readonly total?: number; readonly skipped?: number }): void;
  /** It goes on by itself later; `update` says that it does. */
  wait(message: string): void;
  end(state: Exclude<JobState, 'running' | 'waiting'>, message?: string): void;
}

interface Job extends JobStart {
  readonly job: string;
  readonly startedAtMs: number;
  readonly startedMs: number;
  readonly rate: ProgressRate;
  state: JobState;
  message: string | undefined;
  done: number;
  total: number | undefined;
  skipped: number;
  endedMs: number | undefined;
}

/**
 * What this shard is at that takes over a second (R38): `jobsListedMax` that run, and as many that have ended. More run all the same, and
 * are not listed. What ends sooner is never shown.
 */
export class ProgressRegistry {
  readonly #shardId: ShardId;
  readonly #clock: Clock;
  readonly #options: CooperationOptions;
  readonly #running = new Set<Job>();
  readonly #ended: Job[] = [];
  #next = 1;

  constructor(parts: { readonly shardId: ShardId; readonly clock: Clock; readonly options: CooperationOptions }) {
    this.#shardId = parts.shardId;
    this.#clock = parts.clock;
    this.#options = parts.options;
  }

  start(given: JobStart): JobProgress {
    const startedMs = this.#clock.monotonicMs();
    const job: Job = {
      ...given,
      job: given.job ?? `${this.#shardId}:${given.kind}:${this.#next++}`,
      startedAtMs: this.#clock.nowMs(),
      startedMs,
      rate: new ProgressRate(startedMs),
      state: 'running',
      message: undefined,
      done: 0,
      total: undefined,
      skipped: 0,
      endedMs: undefined,
    };
    if (this.#running.size < this.#options.jobsListedMax) this.#running.add(job);
    return {
      update: (progress) => this.#update(job, progress),
      wait: (message) => Object.assign(job, { state: 'waiting', message }),
      end: (state, message) => this.#end(job, state, message),
    };
  }

  /** Those that run first, the newest of each first. */
  list(): readonly JobReport[] {
    const nowMs = this.#clock.monotonicMs();
    const running = [...this.#running].filter((job) => this.#isShown(job, nowMs)).reverse();
    return [...running, ...this.#ended.toReversed()].map((job) => this.#report(job, nowMs));
  }

  #update(job: Job, { done, total, skipped = job.skipped }: Parameters<JobProgress['update']>[0]): void {
    job.rate.skip(skipped - job.skipped);
    job.rate.update(done, this.#clock.monotonicMs());
    Object.assign(job, { done, total: total ?? job.total, skipped, state: 'running', message: undefined });
  }

  #end(job: Job, state: JobState, message: string | undefined): void {
    if (job.endedMs !== undefined) return;
    const endedMs = this.#clock.monotonicMs();
    Object.assign(job, { state, message, endedMs });
    if (!this.#running.delete(job) || !this.#isShown(job, endedMs)) return;
    this.#ended.push(job);
    if (this.#ended.length > this.#options.jobsListedMax) this.#ended.shift();
  }

  #isShown({ startedMs }: Job, nowMs: number): boolean {
    return nowMs - startedMs >= this.#options.jobShownAfterMs;
  }

  #secondsOf(job: Job, nowMs: number): number {
    return ((job.endedMs ?? nowMs) - job.startedMs) / 1000;
  }

  #report(job: Job, nowMs: number): JobReport {
    const { kind, title, unit, state, done, total, message } = job;
    const seconds = this.#secondsOf(job, nowMs);
    const rate = job.endedMs === undefined ? job.rate.value : (done - job.skipped) / Math.max(seconds, 0.001);
    const canTell = state === 'running' && total !== undefined && rate > 0;
    return {
      job: job.job,
      shard: this.#shardId,
      kind,
      title,
      state,
      unit,
      done,
      ...(total !== undefined && { total }),
      ratePerSecond: rounded(rate),
      ...(canTell && { secondsLeft: rounded(Math.max(0, total - done) / rate) }),
      startedAt: job.startedAtMs,
      seconds: rounded(seconds),
      ...(message !== undefined && { message }),
    };
  }
}

const rounded = (value: number): number => Math.round(value * 100) / 100;
