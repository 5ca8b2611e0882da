import { utf8 } from '../base/index.js';
import type { AnswerLogprob } from '../platform/index.js';

interface Pending {
  readonly logprob: AnswerLogprob;
  /** Where its bytes start in what has not been shown. */
  readonly startBytes: number;
}

/** Log-probabilities of tokens whose text is not shown yet, since it may become part of a stop string. */
export class PendingLogprobs {
  #pending: Pending[] = [];
  #bytes = 0;

  push(logprob: AnswerLogprob): void {
    this.#pending.push({ logprob, startBytes: this.#bytes });
    this.#bytes += logprob.bytes.length;
  }

  /** Those of tokens that a shown text has reached. */
  take(text: string): readonly AnswerLogprob[] {
    const shownBytes = utf8.encode(text).length;
    const shown = this.#pending.filter(({ startBytes }) => startBytes < shownBytes);
    this.#pending = this.#pending
      .filter(({ startBytes }) => startBytes >= shownBytes)
      .map(({ logprob, startBytes }) => ({ logprob, startBytes: startBytes - shownBytes }));
    this.#bytes -= shownBytes;
    return shown.map(({ logprob }) => logprob);
  }

  /** A stop string cut the answer: tokens past `text`, the last that is shown, are not part of it. */
  dropBeyond(text: string): void {
    const shownBytes = utf8.encode(text).length;
    this.#pending = this.#pending.filter(({ startBytes }) => startBytes < shownBytes);
  }
}
