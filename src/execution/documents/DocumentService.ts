import { baseError, type JsonValue, OstrakaError, type OstrakaErrorJson, type ShardId, toOstrakaError } from '../../base/index.js';
import type { Random } from '../../platform/index.js';
import type { RemoteExecutor } from '../../rpc/index.js';
import type { Catalog, CollectionInfo, ShardingManager } from '../../sharding/index.js';
import { checkDocumentKey, type StoredDocument } from '../../storage/index.js';
import type { DocumentOperation, DocumentOutcome } from './DocumentOperation.js';
import { newDocumentKey } from './newDocumentKey.js';

/** An operation as a client asks for it; the key of an insert may be missing. */
export type DocumentRequest = Omit<DocumentOperation, 'key'> & { readonly key: string | undefined };

/**
 * Single documents over the cluster (R4, R7): each operation runs on the shard that owns the document, in a transaction of its own; a
 * batch runs in parallel, one request a shard, and answers each operation by itself. A write that may have run is repeated with its
 * request id, so that it takes effect once.
 */
export class DocumentService {
  readonly #catalog: Catalog;
  readonly #sharding: ShardingManager;
  readonly #executor: RemoteExecutor;
  readonly #random: Random;
  readonly #idPrefix: string;
  #nextRequest = 1;

  constructor(parts: {
    readonly catalog: Catalog;
    readonly sharding: ShardingManager;
    readonly executor: RemoteExecutor;
    readonly random: Random;
  }) {
    this.#catalog = parts.catalog;
    this.#sharding = parts.sharding;
    this.#executor = parts.executor;
    this.#random = parts.random;
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
        groups.set(owner, [...(groups.get(owner) ?? []), { index, operation }]);
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
    return { ...request, key: newDocumentKey(this.#random) };
  }

  async #runOn(
    shardId: ShardId,
    collection: CollectionInfo,
    group: readonly { readonly index: number; readonly operation: DocumentOperation }[],
    outcomes: DocumentOutcome[],
    signal: AbortSignal,
  ): Promise<void> {
    const body = {
      epoch: this.#sharding.ring.epoch,
      collection: refOf(collection),
      operations: group.map(({ operation }) => ({ requestId: `${this.#idPrefix}!${this.#nextRequest++}`, operation })),
    };
    try {
      const answer = await this.#executor.call({
        shardId,
        method: 'document.run',
        body: body as unknown as JsonValue,
        signal,
        idempotent: true,
      });
      for (const [i, outcome] of (answer as unknown as { readonly outcomes: DocumentOutcome[] }).outcomes.entries()) {
        outcomes[(group[i] as { readonly index: number }).index] = outcome;
      }
    } catch (thrown) {
      const error: OstrakaErrorJson = toOstrakaError(thrown).toJson();
      for (const { index } of group) outcomes[index] = { kind: 'error', error };
    }
  }
}

const refOf = ({ database, name, id, kind }: CollectionInfo) => ({ database, name, id, kind });

const unwrap = (outcome: DocumentOutcome | undefined): Extract<DocumentOutcome, { readonly kind: 'done' }> => {
  if (outcome?.kind === 'done') return outcome;
  if (outcome?.kind === 'error') throw new OstrakaError(outcome.error);
  throw baseError('INTERNAL', 'an operation has no outcome');
};
