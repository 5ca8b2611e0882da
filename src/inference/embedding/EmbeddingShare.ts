/**
 * When a pass of embeddings may run beside chats: it takes as long as many steps of an answer, so that one after each of these would leave an
 * answer a word in a while. After a pass chats have the engine to themselves until its time is no more than its share.
 */
export class EmbeddingShare {
  readonly #share: number;
  #owedMs = 0;

  /** `share`: of the time while chats run, above 0; 1 = a pass after each step. */
  constructor(share: number) {
    this.#share = share;
  }

  mayRun(chatRows: number): boolean {
    return chatRows === 0 || this.#owedMs <= 0;
  }

  /** What a cycle of the engine computed, and how long it took. */
  took(rows: { readonly chat: number; readonly embedding: number }, ms: number): void {
    if (rows.chat === 0) this.#owedMs = 0;
    else this.#owedMs = rows.embedding > 0 ? ms * (1 / this.#share - 1) : Math.max(0, this.#owedMs - ms);
  }
}
