/** One lexical unit. `text` is as written; `value` what it stands for; `word` is set for unquoted names and keywords, upper case. */
export interface Token {
  readonly kind: 'keyword' | 'name' | 'string' | 'number' | 'bind' | 'collectionBind' | 'operator' | 'end';
  readonly text: string;
  readonly value: string | number;
  readonly word: string;
  /** Offset of the first character. */
  readonly start: number;
  /** Offset behind the last character. */
  readonly end: number;
}

/** Words that cannot be names without backticks. INFER, EMBED and their tail words are not among them. */
export const reservedWords: ReadonlySet<string> = new Set(
  (
    'AGGREGATE ALL ALL_SHORTEST_PATHS AND ANY ASC COLLECT DESC DISTINCT FALSE FILTER FOR GRAPH IN INBOUND INSERT INTO K_PATHS ' +
    'K_SHORTEST_PATHS LET LIKE LIMIT NONE NOT NULL OR OUTBOUND REMOVE REPLACE RETURN SHORTEST_PATH SORT TRUE UPDATE UPSERT WINDOW WITH'
  ).split(' '),
);
