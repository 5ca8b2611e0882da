import { pageTokens } from './pageTokens.js';

/** Pages that so many tokens take. */
export const pagesOf = (tokens: number): number => Math.ceil(tokens / pageTokens);
