/** Tokens of one page of KV cells (R20, paper §III-C). */
const pageTokens = 16;

/** Pages that so many tokens take. */
export const pagesOf = (tokens: number): number => Math.ceil(tokens / pageTokens);
