import { sizeOfValue } from '../../aql/index.js';
import { assert, baseError, type JsonValue, OstrakaError, type OstrakaErrorJson, type ShardId, toOstrakaError } from '../../base/index.js';
import type { Clock, Random } from '../../platform/index.js';
import type { RemoteExecutor } from '../../rpc/index.js';
import type { Catalog, CollectionInfo, ShardingManager } from '../../sharding/index.js';
import { checkDocumentKey, type StoredDocument } from '../../storage/index.js';
import { KeyGenerator } from '../KeyGenerator.js';
import type { ExecutionOptions } from '../options.js';
import type { DocumentOperation, DocumentOutcome } from './DocumentOperation.js';

/** An operation as a client asks for it; the key of an insert may be missing. */
export type DocumentRequest = Omit<DocumentOperation, 'key'> & { readonly key: string | undefined };

/**
 * Single documents over the cluster (R4, R7): each operation runs on the shard that owns the document, in a transaction of its own; a
 * batch runs on the shards in parallel, in requests of `requestBytesMax`, and answers each operation by itself. A write that may have run is repeated with its
 * request id, so that it takes effect once.
 */
export class DocumentService {
  readonly #catalog: Catalog;
  readonly #sharding: ShardingManager;
  readonly #executor: RemoteExecutor;
  readonly #keys: KeyGenerator;
  readonly #options: Pick<ExecutionOptions, 'requestBytesMax'>;
  readonly #idPrefix: string;
  #nextRequest = 1;

  constructor(parts: {
    readonly catalog: Catalog;
    readonly sharding: ShardingManager;
    readonly executor: RemoteExecutor;
    readonly clock: Clock;
    readonly random: Random;
    readonly options: Pick<ExecutionOptions, 'requestBytesMax'>;
  }) {
    this.#options = parts.options;
    this.#catalog = parts.catalog;
    this.#sharding = parts.sharding;
    this.#executor = parts.executor;
    this.#keys = new KeyGenerator(parts);
    this.#idPrefix = `${parts.executor.selfShardId}!${parts.random.uint32().toString(36)}${parts.random.uint32().toString(36)}`;
  }

  /** Errors: DOCUMENT_NOT_FOUND, COLLECTION_NOT_FOUND, SHARD_UNAVAILABLE. */
  async read(database: string, collection: string, key: string, signal: AbortSignal): Promise<StoredDocument> {
    const [outcome] = await this.run(database, collection, [{ kind: 'read', key, document: {}, options: {} }], signal);
    return unwrap(outcome).new as StoredDocument;
  }

  /** One outcome an operation, in order. Throws only for what concerns all of them (COLLECTION_NOT_FOUND). */
  async run(
    database: string,
    name: string,
    requests: readonly DocumentRequest[],
    signal: AbortSignal,
  ): Promise<readonly DocumentOutcome[]> {
    const collection = await this.#catalog.collection(database, name);
    const outcomes: DocumentOutcome[] = [];
    const groups = new Map<ShardId, { readonly index: number; readonly operation: DocumentOperation }[]>();
    for (const [index, request] of requests.entries()) {
      try {
        const operation = this.#withKey(request);
        const owner = this.#sharding.ring.ownerOf({ database, collection: name, key: operation.key });
        const group = groups.get(owner);
        if (group) group.push({ index, operation });
        else groups.set(owner, [{ index, operation }]);
      } catch (error) {
        outcomes[index] = { kind: 'error', error: toOstrakaError(error).toJson() };
      }
    }
    await Promise.all([...groups].map(([shardId, group]) => this.#runOn(shardId, collection, group, outcomes, signal)));
    return outcomes;
  }

  /** Documents of a collection over all shards. Errors: SHARD_UNAVAILABLE (never a partial count). */
  async count(database: string, name: string, signal: AbortSignal): Promise<number> {
    const collection = await this.#catalog.collection(database, name);
    const counts = await Promise.all(
      this.#sharding.ring.shards.map((shardId) =>
        this.#executor.call({ shardId, method: 'document.count', body: { collection: refOf(collection) }, signal, idempotent: true }),
      ),
    );
    return counts.reduce<number>((total, answer) => total + (answer as { readonly count: number }).count, 0);
  }

  #withKey(request: DocumentRequest): DocumentOperation {
    if (request.key !== undefined) return { ...request, key: checkDocumentKey(request.key) };
    if (request.kind !== 'insert') throw baseError('INTERNAL', `a ${request.kind} needs a key`);
    return { ...request, key: this.#keys.next() };
  }

  async #runOn(
    shardId: ShardId,
    collection: CollectionInfo,
    group: readonly { readonly index: number; readonly operation: DocumentOperation }[],
    outcomes: DocumentOutcome[],
    signal: AbortSignal,
  ): Promise<void> {
    const named = group.map((one) => ({ ...one, requestId: `${this.#idPrefix}!${this.#nextRequest++}` }));
    let done = 0;
    try {
      while (done < named.length) {
        const part = firstWithin(named.slice(done), this.#options.requestBytesMax);
        const ran = await this.#request(shardId, collection, part, signal);
        for (const [i, outcome] of ran.entries()) outcomes[(named[done + i] as Named).index] = outcome;
        done += ran.length;
      }
    } catch (thrown) {
      const error: OstrakaErrorJson = toOstrakaError(thrown).toJson();
      for (const { index } of named.slice(done)) outcomes[index] = { kind: 'error', error };
    }
  }

  /** Outcomes of the first operations, of one at least: an answer holds no more than goes into it. */
  async #request(
    shardId: ShardId,
    collection: CollectionInfo,
    part: readonly Named[],
    signal: AbortSignal,
  ): Promise<readonly DocumentOutcome[]> {
    const operations = part.map(({ requestId, operation }) => ({ requestId, operation }));
    const body = { epoch: this.#sharding.ring.epoch, collection: refOf(collection), operations } as unknown as JsonValue;
    const answer = await this.#executor.call({ shardId, method: 'document.run', body, signal, idempotent: true });
    const { outcomes } = answer as unknown as { readonly outcomes: readonly DocumentOutcome[] };
    assert(outcomes.length > 0 && outcomes.length <= part.length, 'an answer has an outcome for the first operations');
    return outcomes;
  }
}

interface Named {
  readonly index: number;
  readonly operation: DocumentOperation;
  /** The same in every request that asks for it: what has run is answered and not run again. */
  readonly requestId: string;
}

const firstWithin = (operations: readonly Named[], bytesMax: number): readonly Named[] => {
  let bytes = 0;
  const end = operations.findIndex(({ operation }, i) => {
    bytes += sizeOfValue(operation.document, bytesMax);
    return i > 0 && bytes > bytesMax;
  });
  return end === -1 ? operations : operations.slice(0, end);
};

const refOf = ({ database, name, id, kind }: CollectionInfo) => ({ database, name, id, kind });

const unwrap = (outcome: DocumentOutcome | undefined): Extract<DocumentOutcome, { readonly kind: 'done' }> => {
  if (outcome?.kind === 'done') return outcome;
  if (outcome?.kind === 'error') throw new OstrakaError(outcome.error);
  throw baseError('INTERNAL', 'an operation has no outcome');
};
