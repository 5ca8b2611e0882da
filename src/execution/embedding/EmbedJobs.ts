import {
  assert,
  baseError,
  type JsonValue,
  type OstrakaError,
  onAbort,
  raceAbort,
  type ShardId,
  toOstrakaError,
} from '../../base/index.js';
import type { JobProgress, ProgressRegistry } from '../../cooperation/index.js';
import type { Clock, Logger, ModelFacts, Random } from '../../platform/index.js';
import type { ShardingManager } from '../../sharding/index.js';
import type { DocumentStore, JobRecord, JobRecords } from '../../storage/index.js';
import { openContext } from '../openContext.js';
import type { ExecutionOptions } from '../options.js';
import type { QueryMemory } from '../QueryMemory.js';
import type { ModelAccess, Site } from '../SequenceContext.js';
import type { Turns } from '../Turns.js';
import type { EmbedOutcome } from './EmbedOutcome.js';
import { EmbedRun } from './EmbedRun.js';
import { type EmbedTask, embedTaskWire } from './EmbedTask.js';
import { type PlannedTask, planTask } from './planTask.js';

export interface EmbedJobsParts {
  readonly shardId: ShardId;
  readonly documents: DocumentStore;
  readonly records: JobRecords;
  readonly sharding: ShardingManager;
  readonly models: ModelAccess;
  readonly factsOf: (model: string) => ModelFacts | undefined;
  readonly progress: ProgressRegistry;
  readonly clock: Clock;
  readonly turns: Turns;
  readonly random: Random;
  readonly logger: Logger;
  readonly options: ExecutionOptions;
  readonly queryMemory: QueryMemory;
}

/** A job of this shard: a statement that somebody waits for, or one that goes on by itself. */
interface Job {
  readonly task: EmbedTask;
  readonly planned: PlannedTask;
  readonly isKept: boolean;
  readonly stop: AbortController;
  readonly progress: JobProgress;
  /** It looks at no row any more. */
  isOver: boolean;
}

interface Kept {
  /** Rejects where the store does not take the note: the job does not run. */
  readonly noted: Promise<void>;
  /** Never rejects. */
  readonly ended: Promise<void>;
}

/**
 * LLM EMBED … FOR on this shard (R28). A statement runs while its client waits; a kept job is noted durably and runs until it is done,
 * also after a restart. One at a time works on an attribute of a collection: a second would compute the same.
 */
export class EmbedJobs {
  readonly #parts: EmbedJobsParts;
  readonly #jobs = new Set<Job>();
  readonly #kept = new Map<Job, Kept>();
  /** The last of those that wait for an attribute of a collection. */
  readonly #lanes = new Map<string, Promise<unknown>>();
  #stopping = false;
  #runs = 0;

  constructor(parts: EmbedJobsParts) {
    this.#parts = parts;
  }

  /** Errors: those of `planQuery` and of the model, WRONG_EPOCH, EMBED_STATEMENT_INVALID, QUEUE_FULL, the store's, CANCELLED. */
  async run(task: EmbedTask, signal: AbortSignal): Promise<EmbedOutcome> {
    const job = this.#open(task, false);
    const forget = onAbort(signal, () => job.stop.abort(signal.reason));
    try {
      const outcome = await this.#inLane(job);
      job.progress.end('done');
      return outcome;
    } catch (thrown) {
      this.#endFailed(job, thrown);
      throw thrown;
    } finally {
      forget();
      this.#jobs.delete(job);
    }
  }

  /** Resolves when the job is noted; the same again is one job. Errors: those of `planQuery`, EMBED_STATEMENT_INVALID, QUEUE_FULL, STORE_FULL. */
  async keep(task: EmbedTask): Promise<void> {
    planTask(task);
    let same = this.#keptAs(task.job);
    // One that is over takes its note away: not that of this request, for rows that it no longer looks at.
    for (; same?.isOver; same = this.#keptAs(task.job)) await this.#kept.get(same)?.ended;
    // It has its place before it is noted: what is refused for want of one must not run after the next start.
    const record = task as unknown as JsonValue;
    await (same ? this.#kept.get(same)?.noted : this.#startKept(task, () => this.#parts.records.put({ id: task.job, record })));
  }

  /**
   * Goes on with what was noted before the shard ended. What this version does not understand is logged and forgotten; what only finds no
   * place now, or a shard that stops, is logged and stays noted for the next start.
   */
  async resume(): Promise<void> {
    for (const noted of this.#parts.records.list(this.#parts.options.embedJobsMax)) {
      const task = await this.#understood(noted);
      if (task !== undefined && this.#keptAs(task.job) === undefined) await this.#resumeOne(task);
    }
  }

  /** True where there was such a job; what it has committed stays. */
  async cancel(id: string): Promise<boolean> {
    const jobs = [...this.#jobs].filter(({ task }) => task.job === id);
    // First of all: whoever asks for it again from here on has a job of their own, whose note comes after this removal.
    for (const { stop } of jobs) stop.abort(baseError('CANCELLED', 'the job was cancelled'));
    if (jobs.some(({ isKept }) => isKept)) await this.#parts.records.remove(id);
    return jobs.length > 0;
  }

  /** Ends all of them; those that are noted go on when the shard starts again. */
  async stop(): Promise<void> {
    this.#stopping = true;
    for (const { stop } of this.#jobs) stop.abort(baseError('CANCELLED', 'the shard stops'));
    await Promise.all([...this.#kept.values()].map(({ ended }) => ended));
  }

  /** Undefined: no longer noted, since it would be refused after every start. */
  async #understood({ id, record }: JobRecord): Promise<EmbedTask | undefined> {
    try {
      const task = embedTaskWire.parse(record);
      planTask(task);
      return task;
    } catch (thrown) {
      this.#parts.logger.warn('embedding.not_resumed', { job: id, error: toOstrakaError(thrown).message });
      await this.#parts.records.remove(id);
      return undefined;
    }
  }

  async #resumeOne(task: EmbedTask): Promise<void> {
    try {
      await this.#startKept(task, alreadyNoted);
    } catch (thrown) {
      this.#parts.logger.warn('embedding.not_resumed_yet', { job: task.job, code: toOstrakaError(thrown).code });
    }
  }

  /** The one of that name that is not cancelled. */
  #keptAs(id: string): Job | undefined {
    return [...this.#kept.keys()].find(({ task, stop }) => task.job === id && !stop.signal.aborted);
  }

  /** Resolves when `note` has. Throws what `#open` does, before it notes anything. */
  #startKept(task: EmbedTask, note: () => Promise<void>): Promise<void> {
    const job = this.#open(task, true);
    const noted = note();
    const ended = this.#afterNote(job, noted).finally(() => {
      this.#jobs.delete(job);
      this.#kept.delete(job);
    });
    this.#kept.set(job, { noted, ended });
    return noted;
  }

  /** Never rejects. */
  async #afterNote(job: Job, noted: Promise<void>): Promise<void> {
    try {
      await noted;
    } catch (thrown) {
      this.#endFailed(job, thrown);
      return;
    }
    await this.#untilDone(job);
  }

  #open(task: EmbedTask, isKept: boolean): Job {
    const { options, progress } = this.#parts;
    const planned = planTask(task);
    if (this.#stopping) throw baseError('CANCELLED', 'the shard stops');
    if (this.#jobs.size >= options.embedJobsMax)
      throw baseError('QUEUE_FULL', `${options.embedJobsMax} statements that embed rows run or wait on this shard already`);
    const { database, name } = task.collection;
    const title = `embed ${database}/${name} into ${planned.node.into}`;
    const own = progress.start({ job: task.job, kind: 'embed', title, unit: 'rows' });
    const job: Job = { task, planned, isKept, stop: new AbortController(), progress: own, isOver: false };
    this.#jobs.add(job);
    return job;
  }

  /** Never rejects. What fails for now is tried again until it is done or cancelled. */
  async #untilDone(job: Job): Promise<void> {
    const { clock, options, records } = this.#parts;
    try {
      while (!(await this.#attempt(job))) await clock.sleep(options.embedResumeMs, job.stop.signal);
      job.isOver = true;
      await records.remove(job.task.job);
      job.progress.end('done');
    } catch (thrown) {
      this.#endFailed(job, thrown);
      if (!job.stop.signal.aborted) await this.#giveUp(job, thrown);
    }
  }

  /** False: not yet. */
  async #attempt(job: Job): Promise<boolean> {
    try {
      await this.#inLane(job);
      return true;
    } catch (thrown) {
      const error = toOstrakaError(thrown);
      if (job.stop.signal.aborted || isHopeless(error)) throw thrown;
      this.#parts.logger.info('embedding.waits', { job: job.task.job, code: error.code });
      job.progress.wait(error.code);
      return false;
    }
  }

  /** It would fail in the same way after each restart. */
  async #giveUp({ task }: Job, thrown: unknown): Promise<void> {
    const { logger, records } = this.#parts;
    const { code, message } = toOstrakaError(thrown);
    logger.warn('embedding.failed', { job: task.job, code, error: message });
    await records
      .remove(task.job)
      .catch((error: unknown) => logger.warn('embedding.not_forgotten', { job: task.job, error: String(error) }));
  }

  #endFailed({ stop, progress }: Job, thrown: unknown): void {
    if (stop.signal.aborted) progress.end('cancelled');
    else progress.end('failed', toOstrakaError(thrown).code);
  }

  async #inLane(job: Job): Promise<EmbedOutcome> {
    const { collection } = job.task;
    const lane = `${collection.id}/${job.planned.node.into}`;
    const before = this.#lanes.get(lane);
    const turn = (async () => {
      if (before !== undefined) await raceAbort(before, job.stop.signal);
      job.stop.signal.throwIfAborted();
      return this.#work(job);
    })();
    // Whoever comes next waits for those before, too: one that is cancelled while it waits must not let it pass.
    const last = Promise.allSettled([before, turn]);
    this.#lanes.set(lane, last);
    try {
      return await turn;
    } finally {
      if (this.#lanes.get(lane) === last) this.#lanes.delete(lane);
    }
  }

  async #work({ task, planned, stop, progress }: Job): Promise<EmbedOutcome> {
    const { shardId, random, clock } = this.#parts;
    const id = `${task.job}@${shardId}:${++this.#runs}:${random.uint32().toString(36)}`;
    const context = this.#context(id, stop.signal);
    try {
      return await new EmbedRun({
        ...this.#parts,
        id,
        task: planned,
        collection: task.collection,
        clock,
        context,
        onProgress: (now) => progress.update(now),
        onWait: (reason) => progress.wait(reason),
      }).run();
    } finally {
      context.memory.limit.end();
    }
  }

  #context(queryId: string, signal: AbortSignal) {
    const { clock, options } = this.#parts;
    const { memoryLimitBytes, warningsMax } = options;
    return openContext({
      ...this.#parts,
      queryId,
      adapters: undefined,
      embedRows: undefined,
      part: { owner: { queryId } },
      site: () => noSite,
      limits: { memoryLimitBytes, warningsMax, failOnWarning: false },
      nowMs: clock.nowMs(),
      signal,
    });
  }
}

/** The statement itself is refused. What fails on this side may not fail for ever. */
const isHopeless = ({ retryable, httpStatus }: OstrakaError): boolean => !retryable && httpStatus < 500;

const alreadyNoted = (): Promise<void> => Promise.resolve();
const refuse = (): never => assert(false, 'the text of a row reads nothing but the row') as never;
const noSite: Site = { scan: refuse, gather: refuse, write: refuse };
