import { type Logger as Pino, pino } from 'pino';
import type { LogFields, Logger } from '../index.js';

/** JSON lines to a file descriptor (2 = standard error, the default: standard output belongs to the command). */
export class PinoLogger implements Logger {
  readonly #pino: Pino;

  private constructor(instance: Pino) {
    this.#pino = instance;
  }

  static open(options: { readonly level: 'debug' | 'info' | 'warn' | 'error'; readonly destination: string | 2 }): PinoLogger {
    return new PinoLogger(pino({ level: options.level, base: null }, pino.destination({ dest: options.destination, sync: true })));
  }

  child(fields: LogFields): Logger {
    return new PinoLogger(this.#pino.child(fields));
  }

  debug(event: string, fields: LogFields = {}): void {
    this.#pino.debug(fields, event);
  }

  info(event: string, fields: LogFields = {}): void {
    this.#pino.info(fields, event);
  }

  warn(event: string, fields: LogFields = {}): void {
    this.#pino.warn(fields, event);
  }

  error(event: string, fields: LogFields = {}): void {
    this.#pino.error(fields, event);
  }
}
