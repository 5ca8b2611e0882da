import { durationText } from './durationText.js';
import type { JobAnswer } from './JobAnswer.js';

const cells = 24;

/** The jobs that began since `before`, all shards together, as one line that is redrawn on a terminal and goes when it is over (R38). */
export class JobBar {
  readonly #write: (text: string) => void;
  readonly #before: ReadonlySet<string>;
  #isOpen = false;

  constructor(parts: { readonly write: (text: string) => void; readonly before: readonly JobAnswer[] }) {
    this.#write = parts.write;
    this.#before = new Set(parts.before.map(keyOf));
  }

  update(jobs: readonly JobAnswer[]): void {
    const own = jobs.filter((job) => job.kind === 'embed' && !this.#before.has(keyOf(job)));
    if (own.length === 0) return;
    const [done, total, rate] = [sumOf(own, 'done'), sumOf(own, 'total'), sumOf(own, 'ratePerSecond')];
    const filled = Math.round(cells * (total === 0 ? 0 : Math.min(1, done / total)));
    const left = Math.max(...own.map(({ secondsLeft = 0 }) => secondsLeft)); // the statement ends with its last shard
    this.#isOpen = true;
    this.#write(
      `\rembed ${'█'.repeat(filled)}${'░'.repeat(cells - filled)} ${done}/${total} rows  ${rate.toFixed(1)} rows/s  ${durationText(left)} left \u001b[K`,
    );
  }

  end(): void {
    if (this.#isOpen) this.#write('\r\u001b[K');
    this.#isOpen = false;
  }
}

const keyOf = ({ job, shard, startedAt }: JobAnswer): string => `${job} ${shard} ${startedAt}`;

const sumOf = (jobs: readonly JobAnswer[], name: 'done' | 'total' | 'ratePerSecond'): number =>
  jobs.reduce((sum, job) => sum + (job[name] ?? 0), 0);
