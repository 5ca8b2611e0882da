import type { JsonValue } from '../base/index.js';

export type LogFields = { readonly [key: string]: JsonValue | undefined };

/** Structured log. `event` is a stable name (`engine.restarted`); fields never hold prompts, documents or keys. `error` means that a person must look, and fails a simulation run. */
export interface Logger {
  child(fields: LogFields): Logger;
  debug(event: string, fields?: LogFields): void;
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
}
