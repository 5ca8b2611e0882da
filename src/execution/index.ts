// execution: runs documents' operations and query plans over the shards (R4, R13–R15, R28).
export type { DocumentOperation, DocumentOptions, DocumentOutcome } from './documents/DocumentOperation.js';
export { type DocumentRequest, DocumentService } from './documents/DocumentService.js';
export { documentMethods } from './documents/documentMethods.js';
export { LocalDocuments } from './documents/LocalDocuments.js';
