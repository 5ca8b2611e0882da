/** Model calls of one query. `scatters` counts batches: rows of one window make one, with one request a shard. */
export interface LlmStats {
  /** Rows that needed an answer. */
  rows: number;
  /** Requests sent to shards, retries included. */
  requests: number;
  scatters: number;
  /** Distinct requests asked for, which max_calls bounds. */
  calls: number;
  /** Rows answered by the answer to an identical request. */
  deduped: number;
  promptTokens: number;
  completionTokens: number;
  cachedTokens: number;
  retries: number;
  /** Requests with a domain that no capable shard took. */
  fallbacks: number;
  perShard: { shard: string; requests: number }[];
}

export interface EmbedStats {
  /** Texts embedded, and documents that RERANK scored. */
  texts: number;
  requests: number;
  promptTokens: number;
  /** Texts embedded on each shard: which text left its shard can be seen by it. */
  perShard: { shard: string; texts: number }[];
}

/** Counters of one query, summed over the shards; names are ArangoDB's where it has them. */
export interface QueryStats {
  writesExecuted: number;
  writesIgnored: number;
  scannedFull: number;
  /** Documents found by their keys. */
  scannedIndex: number;
  filtered: number;
  /** Fragments and write batches sent to shards. */
  httpRequests: number;
  peakMemoryUsage: number;
  readonly llm: LlmStats;
  readonly embed: EmbedStats;
}

export function emptyStats(): QueryStats {
  return {
    writesExecuted: 0,
    writesIgnored: 0,
    scannedFull: 0,
    scannedIndex: 0,
    filtered: 0,
    httpRequests: 0,
    peakMemoryUsage: 0,
    llm: {
      rows: 0,
      requests: 0,
      scatters: 0,
      calls: 0,
      deduped: 0,
      promptTokens: 0,
      completionTokens: 0,
      cachedTokens: 0,
      retries: 0,
      fallbacks: 0,
      perShard: [],
    },
    embed: { texts: 0, requests: 0, promptTokens: 0, perShard: [] },
  };
}

/** Counts embedded texts to the shard that embedded them. */
export function countEmbedded(stats: EmbedStats, shard: string, texts: number): void {
  const own = stats.perShard.find((entry) => entry.shard === shard);
  if (own) own.texts += texts;
  else stats.perShard.push({ shard, texts });
}

/** Adds what a shard counted in a fragment. Model calls other than embeddings are never made there. */
export function addStats(total: QueryStats, part: QueryStats): void {
  total.writesExecuted += part.writesExecuted;
  total.writesIgnored += part.writesIgnored;
  total.scannedFull += part.scannedFull;
  total.scannedIndex += part.scannedIndex;
  total.filtered += part.filtered;
  total.peakMemoryUsage = Math.max(total.peakMemoryUsage, part.peakMemoryUsage);
  total.embed.texts += part.embed.texts;
  total.embed.requests += part.embed.requests;
  total.embed.promptTokens += part.embed.promptTokens;
  for (const { shard, texts } of part.embed.perShard) countEmbedded(total.embed, shard, texts);
}
