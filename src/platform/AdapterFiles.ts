/** How good an adapter is, and how that is known: the fields of its announcement (paper E2). */
export interface AdapterFigures {
  readonly accuracyDelta: number;
  readonly baseAccuracy: number;
  readonly adapterAccuracy: number;
  readonly performanceDeltaP99Ms: number;
  readonly trainingSamples: number;
  readonly federationRound: number;
  readonly source: 'measured' | 'declared';
}

export interface AdapterFile {
  /** Absolute, links resolved. */
  readonly path: string;
  /** SHA-256 of the file, hex. */
  readonly digest: string;
  /** Of the evaluation beside the file; `declared` without one. */
  readonly figures: AdapterFigures;
}

/** An adapter that was loaded while the shard ran and is loaded again when the shard starts. */
export interface SavedAdapter {
  readonly domain: string;
  readonly path: string;
  readonly digest: string;
  readonly scale: number;
  /** Declared by whoever loaded it; absent = the figures beside the file. */
  readonly accuracyDelta?: number;
}

/** The files that adapters are loaded from at run time, and the shard's own list of them (R21). */
export interface AdapterFiles {
  /**
   * Finds a file that clients may name. Errors: ADAPTER_PATH_REFUSED (not where adapters may lie; says nothing of what lies there),
   * ADAPTER_INVALID (missing, no plain file, over the limit, or with an evaluation of another adapter).
   */
  describe(path: string): Promise<AdapterFile>;
  /** Empty when nothing was ever saved. */
  readSaved(): Promise<readonly SavedAdapter[]>;
  /** Replaces the whole list; a crash leaves the old or the new one. */
  writeSaved(adapters: readonly SavedAdapter[]): Promise<void>;
}
