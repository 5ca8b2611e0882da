import type { JsonValue, ShardId } from '../../base/index.js';
import type { TopologyView } from '../../membership/index.js';
import type { RemoteExecutor } from '../../rpc/index.js';
import type { CooperationOptions } from '../options.js';
import type { JobReport } from './JobReport.js';

/** What the shards of the cluster are at. */
export interface ClusterJobList {
  readonly jobs: readonly JobReport[];
  /** Members that did not say. */
  readonly unreachable: readonly string[];
}

/** Jobs of all shards, asked of each (R38). */
export class ClusterJobs {
  readonly #executor: RemoteExecutor;
  readonly #topology: () => TopologyView;
  readonly #options: CooperationOptions;

  constructor(parts: { readonly executor: RemoteExecutor; readonly topology: () => TopologyView; readonly options: CooperationOptions }) {
    this.#executor = parts.executor;
    this.#topology = parts.topology;
    this.#options = parts.options;
  }

  async list(signal: AbortSignal): Promise<ClusterJobList> {
    const answers = await this.#ask('jobs.list', null, signal);
    return {
      jobs: answers.flatMap(({ answer }) => (answer as unknown as readonly JobReport[] | undefined) ?? []),
      unreachable: unreachableOf(answers),
    };
  }

  /** Ends a job on every shard; `shards` lists those that had a part of it that could be ended. */
  async cancel(job: string, signal: AbortSignal): Promise<{ readonly shards: readonly string[]; readonly unreachable: readonly string[] }> {
    const answers = await this.#ask('jobs.cancel', { job }, signal);
    return { shards: answers.flatMap(({ shardId, answer }) => (answer === true ? [shardId] : [])), unreachable: unreachableOf(answers) };
  }

  #ask(method: string, body: JsonValue, signal: AbortSignal): Promise<readonly Answer[]> {
    const { members } = this.#topology();
    const ask = async ({ shardId }: { readonly shardId: ShardId }): Promise<Answer> => {
      const call = { shardId, method, body, signal, deadlineMs: this.#options.jobsAnswerMsMax, idempotent: true };
      const answer = await this.#executor.call(call).catch(() => undefined);
      return { shardId, answer };
    };
    return Promise.all(members.map(ask));
  }
}

interface Answer {
  readonly shardId: ShardId;
  /** Undefined: it did not answer. */
  readonly answer: JsonValue | undefined;
}

const unreachableOf = (answers: readonly Answer[]): readonly string[] =>
  answers.flatMap(({ shardId, answer }) => (answer === undefined ? [shardId] : []));
