import type { JsonValue } from './JsonValue.js';
import { OstrakaError } from './OstrakaError.js';

/** One row of a module's error table: docs are generated from it, so `meaning` and `action` are whole sentences. */
export interface ErrorDefinition {
  readonly httpStatus: number;
  /** ArangoDB's error number; 0 where ArangoDB has no such error. */
  readonly errorNum: number;
  readonly retryable: boolean;
  readonly meaning: string;
  readonly action: string;
}

export interface ErrorDetails {
  readonly data?: { readonly [key: string]: JsonValue };
  readonly cause?: unknown;
}

/**
 * Makes the constructor of a module's errors from its table. Only codes of the table type-check.
 * @example const storageError = defineErrors(storageErrors); throw storageError('DOCUMENT_NOT_FOUND', 'no document …');
 */
export function defineErrors<Table extends { readonly [code: string]: ErrorDefinition }>(
  table: Table,
): (code: keyof Table & string, message: string, details?: ErrorDetails) => OstrakaError {
  return (code, message, details) => {
    const definition = table[code] as ErrorDefinition;
    const { httpStatus, errorNum, retryable } = definition;
    const json = { code, message, httpStatus, errorNum, retryable, data: details?.data ?? {} };
    return new OstrakaError(json, details?.cause === undefined ? undefined : { cause: details.cause });
  };
}
