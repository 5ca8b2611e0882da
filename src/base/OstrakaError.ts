import type { JsonValue } from './JsonValue.js';

/** What crosses a wire of an error. `errorNum` is ArangoDB's number (0 where it has none). */
export interface OstrakaErrorJson {
  readonly code: string;
  readonly message: string;
  readonly httpStatus: number;
  readonly errorNum: number;
  readonly retryable: boolean;
  readonly data: { readonly [key: string]: JsonValue };
}

/**
 * The one error class. `code` is stable and documented in the `errors.ts` table of the module that throws it; the message says what
 * happened, where, and what to do. `data` never holds prompts, documents or keys.
 */
export class OstrakaError extends Error {
  readonly code: string;
  readonly httpStatus: number;
  readonly errorNum: number;
  readonly retryable: boolean;
  readonly data: { readonly [key: string]: JsonValue };

  constructor(json: OstrakaErrorJson, options?: { readonly cause?: unknown }) {
    super(json.message, options);
    this.name = 'OstrakaError';
    this.code = json.code;
    this.httpStatus = json.httpStatus;
    this.errorNum = json.errorNum;
    this.retryable = json.retryable;
    this.data = json.data;
  }

  toJson(): OstrakaErrorJson {
    const { code, message, httpStatus, errorNum, retryable, data } = this;
    return { code, message, httpStatus, errorNum, retryable, data };
  }
}
