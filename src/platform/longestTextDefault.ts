/**
 * Longest text to embed, in tokens, where nothing else is said. An encoder reads a text in one pass, in which the engine gives no sign of life: a
 * large one would need a minute for thousands of tokens on a slow core and be taken for hung, so that its operator must ask for more.
 */
export const longestTextDefault = { encoder: 512, decoder: 2_048 } as const;
