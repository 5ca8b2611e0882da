import { durationText } from './durationText.js';
import type { JobAnswer } from './JobAnswer.js';

/** A job as a row of a table: shard, title, state, how far, how fast, how long still (R38). */
export function describeJob(job: JobAnswer): readonly string[] {
  const state = job.message === undefined ? job.state : `${job.state}: ${job.message}`;
  return [job.shard, job.title, state, amountOf(job), speedOf(job), timeOf(job), job.kind === 'embed' && isOpen(job) ? job.job : ''];
}

const isOpen = ({ state }: JobAnswer): boolean => state === 'running' || state === 'waiting';

const amountOf = ({ done, total, unit }: JobAnswer): string => {
  if (unit === 'percent') return total === undefined ? '' : `${done} %`;
  return total === undefined ? `${done} ${unit}` : `${done}/${total} ${unit}`;
};

const speedOf = ({ ratePerSecond, unit }: JobAnswer): string =>
  unit === 'percent' || ratePerSecond === 0 ? '' : `${ratePerSecond.toFixed(1)} ${unit}/s`;

const timeOf = ({ state, secondsLeft, seconds }: JobAnswer): string => {
  if (state === 'running' && secondsLeft !== undefined) return `${durationText(secondsLeft)} left`;
  return state === 'running' ? `for ${durationText(seconds)}` : state === 'waiting' ? '' : `took ${durationText(seconds)}`;
};
