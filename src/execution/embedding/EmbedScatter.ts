import type { EmbedRowsNode } from '../../aql/index.js';
import { assert, type JsonValue, type ShardId } from '../../base/index.js';
import type { RemoteExecutor } from '../../rpc/index.js';
import type { ConsistentHashRing } from '../../sharding/index.js';
import type { CollectionRef } from '../../storage/index.js';
import { executionError } from '../errors.js';
import type { QueryRequest } from '../QueryRequest.js';
import type { EmbedAnswerFrame } from './EmbedAnswerFrame.js';
import type { EmbedOutcome } from './EmbedOutcome.js';
import type { EmbedTask } from './EmbedTask.js';
import { keptJobId } from './keptJobId.js';
import { checkedOptions } from './planTask.js';

export interface ShardOutcome {
  readonly shard: ShardId;
  readonly job: string;
  /** Undefined: the shard has noted the job and goes on by itself. */
  readonly outcome: EmbedOutcome | undefined;
}

export interface EmbedScatterParts {
  readonly queryId: string;
  readonly request: Pick<QueryRequest, 'query' | 'bindVars' | 'transaction'>;
  readonly collections: ReadonlyMap<string, CollectionRef>;
  readonly ring: ConsistentHashRing;
  readonly executor: RemoteExecutor;
  readonly remainingMs: () => number;
}

/** The coordinator's side of LLM EMBED … FOR: the statement goes to every shard, and nothing of their rows comes back but counts. */
export class EmbedScatter {
  readonly #parts: EmbedScatterParts;

  constructor(parts: EmbedScatterParts) {
    this.#parts = parts;
  }

  /** One answer a shard, in their order. The first error ends the work of all; what they have committed stays. */
  async run(node: EmbedRowsNode, signal: AbortSignal): Promise<readonly ShardOutcome[]> {
    const { ring, request } = this.#parts;
    const { background } = checkedOptions(node.options);
    if (request.transaction !== undefined)
      throw executionError('EMBED_STATEMENT_INVALID', 'LLM EMBED … FOR commits by itself and cannot be part of a transaction');
    const stop = new AbortController();
    const own = AbortSignal.any([signal, stop.signal]);
    const task = this.#task(node, background);
    let failure: { readonly error: unknown } | undefined;
    const ask = async (shard: ShardId): Promise<ShardOutcome | undefined> => {
      try {
        return { shard, job: task.job, outcome: await this.#ask(shard, { task, background }, own) };
      } catch (error) {
        failure ??= { error };
        stop.abort(error);
        return undefined;
      }
    };
    const outcomes = await Promise.all(ring.shards.map(ask));
    if (failure !== undefined) throw failure.error;
    return outcomes.filter((outcome) => outcome !== undefined);
  }

  /** A kept job has the name of what it does, so that to ask for it twice is to have it once. */
  #task(node: EmbedRowsNode, background: boolean): EmbedTask {
    const { queryId, request, collections } = this.#parts;
    const collection = collections.get(node.collection);
    assert(collection, 'a plan lists all its collections', { name: node.collection });
    const { query } = request;
    const bindVars = { ...request.bindVars };
    const job = background ? keptJobId({ collection, into: node.into, query, bindVars }) : `embed:${queryId}`;
    return { version: 1, job, collection, query, bindVars };
  }

  async #ask(
    shardId: ShardId,
    { task, background }: { readonly task: EmbedTask; readonly background: boolean },
    signal: AbortSignal,
  ): Promise<EmbedOutcome | undefined> {
    const { executor, ring, remainingMs } = this.#parts;
    const frames = executor.stream({
      shardId,
      method: 'execution.embedRows',
      body: { epoch: ring.epoch, background, task } as unknown as JsonValue,
      signal,
      deadlineMs: remainingMs(),
      idempotent: false,
    });
    let outcome: EmbedOutcome | undefined;
    for await (const frame of frames as unknown as AsyncIterable<EmbedAnswerFrame>) {
      if (frame.kind === 'done') outcome = frame.outcome;
    }
    return outcome;
  }
}
