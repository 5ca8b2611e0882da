/** Tokens of one page of KV cells (R20, paper §III-C). */
export const pageTokens = 16;
