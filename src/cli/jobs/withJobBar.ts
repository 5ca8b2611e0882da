import { setTimeout as sleep } from 'node:timers/promises';
import type { HttpClient } from '../HttpClient.js';
import type { JobAnswer, JobsAnswer } from './JobAnswer.js';
import { JobBar } from './JobBar.js';

const pollMs = 500;

/** Runs `work` with a bar of what the cluster embeds for it meanwhile. What cannot be asked is not shown. */
export async function withJobBar<Value>(client: HttpClient, work: () => Promise<Value>): Promise<Value> {
  const bar = new JobBar({ write: (text) => process.stderr.write(text), before: await jobsOf(client) });
  const over = new AbortController();
  const drawing = draw(client, bar, over.signal);
  try {
    return await work();
  } finally {
    over.abort();
    await drawing;
    bar.end();
  }
}

async function draw(client: HttpClient, bar: JobBar, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await sleep(pollMs, undefined, { signal }).catch(() => undefined);
    if (!signal.aborted) bar.update(await jobsOf(client));
  }
}

const jobsOf = async (client: HttpClient): Promise<readonly JobAnswer[]> => {
  try {
    return (await client.request<JobsAnswer>('GET', '/_ostraka/jobs')).jobs;
  } catch {
    return [];
  }
};
