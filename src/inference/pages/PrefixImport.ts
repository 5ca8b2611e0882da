import { type PrefixHeader, type PrefixPart, platformError } from '../../platform/index.js';

/** A prefix that arrives piece by piece. */
export class PrefixImport {
  readonly #header: PrefixHeader;
  readonly #state: Uint8Array;
  #receivedBytes = 0;

  constructor(header: PrefixHeader) {
    this.#header = header;
    this.#state = new Uint8Array(header.stateBytes);
  }

  get receivedBytes(): number {
    return this.#receivedBytes;
  }

  /** All rows; undefined while some are missing. */
  get state(): Uint8Array | undefined {
    return this.#receivedBytes === this.#state.length ? this.#state : undefined;
  }

  /** Whether pieces under this header go on with the same prefix. */
  isOf({ stateBytes, tokens }: PrefixHeader): boolean {
    const own = this.#header;
    return (
      stateBytes === own.stateBytes && tokens.length === own.tokens.length && tokens.every((token, place) => token === own.tokens[place])
    );
  }

  /** Errors: KV_PREFIX_DAMAGED. */
  take({ offset, bytes }: PrefixPart): void {
    if (bytes.length === 0) return;
    const fits = offset === this.#receivedBytes && offset + bytes.length <= this.#state.length;
    if (!fits)
      throw platformError('KV_PREFIX_DAMAGED', `a piece of ${bytes.length} bytes came at ${offset}, expected at ${this.#receivedBytes}`);
    this.#state.set(bytes, offset);
    this.#receivedBytes += bytes.length;
  }
}
