import { type JsonValue, SharedWork, toOstrakaError } from '../../base/index.js';
import type {
  CollectionRef,
  DocumentStore,
  MergeOptions,
  StorageOptions,
  StoredDocument,
  Transaction,
  WriteResult,
} from '../../storage/index.js';
import { storageError } from '../../storage/index.js';
import { insertDocument } from '../insertDocument.js';
import type { Turns } from '../Turns.js';
import type { DocumentOperation, DocumentOptions, DocumentOutcome } from './DocumentOperation.js';

/** Documents of a count between two rests: some milliseconds of work. */
const countedTogether = 1000;
const countedBytesMax = 4_194_304;

/**
 * Operations on documents that this shard owns, each in a transaction of its own. A write is remembered with its answer under its
 * request id in the same durable batch, so that a repeated request is answered and not run again.
 */
export class LocalDocuments {
  readonly #documents: DocumentStore;
  readonly #turns: Turns;
  readonly #options: StorageOptions;
  /** Requests being run: a repetition waits for the first. */
  readonly #running = new SharedWork<DocumentOutcome>();

  constructor(parts: { readonly documents: DocumentStore; readonly turns: Turns; readonly options: StorageOptions }) {
    this.#documents = parts.documents;
    this.#turns = parts.turns;
    this.#options = parts.options;
  }

  run(
    collection: CollectionRef,
    request: { readonly requestId: string; readonly operation: DocumentOperation },
    signal: AbortSignal,
  ): Promise<DocumentOutcome> {
    return this.#running.run(request.requestId, (own) => this.#once(collection, request, own), signal);
  }

  /** Others run between any two chunks: a shard that counts millions goes on to answer. Ends with `signal`. */
  async count(collection: CollectionRef, signal: AbortSignal): Promise<number> {
    const transaction = await this.#documents.begin({ id: 'count', signal });
    const part = { owner: transaction };
    let count = 0;
    let afterKey: string | undefined;
    do {
      await this.#turns.rest(part, signal);
      await transaction.ready(collection, { afterKey }, signal);
      const chunk = transaction.scan(collection, { afterKey, documentsMax: countedTogether, bytesMax: countedBytesMax });
      count += chunk.documents.length;
      afterKey = chunk.lastKey;
    } while (afterKey !== undefined);
    return count;
  }

  async #once(
    collection: CollectionRef,
    { requestId, operation }: { readonly requestId: string; readonly operation: DocumentOperation },
    signal: AbortSignal,
  ): Promise<DocumentOutcome> {
    const known = this.#documents.outcomeOf(requestId);
    if (known.kind === 'committed') return known.answer as unknown as DocumentOutcome;
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#attempt(collection, requestId, operation, signal);
      } catch (thrown) {
        const error = toOstrakaError(thrown);
        if (error.code !== 'WRITE_CONFLICT' || attempt >= this.#options.conflictRetriesMax) return { kind: 'error', error: error.toJson() };
      }
    }
  }

  async #attempt(
    collection: CollectionRef,
    requestId: string,
    operation: DocumentOperation,
    signal: AbortSignal,
  ): Promise<DocumentOutcome> {
    const transaction = await this.#documents.begin({ id: requestId, signal });
    await transaction.ready(collection, { keys: [operation.key] }, signal);
    const result = perform(transaction, collection, operation);
    const outcome = outcomeOf(result, operation);
    await this.#documents.commit(transaction, outcome as unknown as JsonValue, signal);
    return outcome;
  }
}

const outcomeOf = (result: WriteResult, { kind, returns }: DocumentOperation): DocumentOutcome => ({
  kind: 'done',
  new: kind === 'read' || returns?.new ? (result.new ?? null) : identityOf(result.new),
  old: returns?.old ? (result.old ?? null) : identityOf(result.old),
});

const identityOf = (document: StoredDocument | undefined): StoredDocument | null =>
  document ? { _key: document._key, _id: document._id, _rev: document._rev } : null;

const perform = (transaction: Transaction, collection: CollectionRef, operation: DocumentOperation): WriteResult => {
  const { kind, key, document, options } = operation;
  const condition = { revision: options.revision };
  if (kind === 'read') return read(transaction, collection, key);
  if (kind === 'remove') return transaction.remove(collection, key, condition);
  if (kind === 'update') return transaction.update(collection, key, document, mergeOf(options), condition);
  if (kind === 'replace') return transaction.replace(collection, key, document, condition);
  return insert(transaction, collection, operation);
};

const read = (transaction: Transaction, collection: CollectionRef, key: string): WriteResult => {
  const found = transaction.get(collection, key);
  if (!found) throw storageError('DOCUMENT_NOT_FOUND', `document ${collection.name}/${key} not found`);
  return { new: found, old: undefined };
};

const insert = (transaction: Transaction, collection: CollectionRef, { key, document, options }: DocumentOperation): WriteResult => {
  const result = insertDocument(transaction, collection, {
    key,
    document: Object.fromEntries([...Object.entries(document), ['_key', key]]),
    options: { ...mergeOf(options), overwriteMode: options.overwriteMode ?? 'conflict' },
  });
  return 'kept' in result ? { new: result.kept, old: undefined } : result;
};

const mergeOf = ({ keepNull = true, mergeObjects = true }: DocumentOptions): MergeOptions => ({ keepNull, mergeObjects });
