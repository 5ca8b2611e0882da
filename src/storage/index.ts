// storage: versioned documents of one shard: snapshot reads, serializable commits, durable prepared transactions. Knows nothing of
// other shards or of the network. Errors and options: ./errors.ts, ./options.ts.
export type { CollectionRef } from './CollectionRef.js';
export { checkDocumentKey } from './checkDocumentKey.js';
export { claimStore } from './claimStore.js';
export { type CommitListener, DocumentStore, type DocumentStoreParts, type TransactionOutcome } from './DocumentStore.js';
export { storageError, storageErrors } from './errors.js';
export { GarbageCollector } from './GarbageCollector.js';
export { HybridLogicalClock } from './HybridLogicalClock.js';
export { isDocumentKey } from './isDocumentKey.js';
export { type JobRecord, JobRecords } from './JobRecords.js';
export type { MergeOptions } from './mergeDocuments.js';
export { type StorageOptions, storageOptions } from './options.js';
export type { StoredDocument } from './StoredDocument.js';
export type { Timestamp } from './Timestamp.js';
export { type ReadTarget, Transaction, type WriteCondition, type WriteResult } from './Transaction.js';
