/** A file of a repository at one commit: its bytes never change. */
export interface HubFile {
  readonly owner: string;
  readonly repository: string;
  readonly commit: string;
  /** Path in the repository. */
  readonly file: string;
}

/** What a hub says of a file before it sends it; undefined where it does not say. */
export interface HubOffer {
  /** SHA-256, hex. */
  readonly digest: string | undefined;
  readonly bytes: number | undefined;
}

export interface HubDownload {
  /** A file that may hold the beginning of the same content: the download goes on from there. */
  readonly to: string;
  /** Room on its disk. */
  readonly freeBytes: () => Promise<number>;
  readonly signal: AbortSignal;
  readonly onProgress: (done: number, total: number | undefined) => void;
}

/**
 * A hub of models: repositories of files by owner and name, each with revisions. What comes from it is checked by whoever asked.
 * Errors: MODEL_UNKNOWN, MODEL_ACCESS_REFUSED, MODEL_FETCH_FAILED, and of a download MODEL_INVALID (what is sent is no GGUF file) and
 * STORE_FULL.
 */
export interface ModelHub {
  /** The commit that a revision means now, and the paths of its files. */
  list(
    place: { readonly owner: string; readonly repository: string; readonly revision: string },
    signal: AbortSignal,
  ): Promise<{ readonly commit: string; readonly files: readonly string[] }>;
  look(file: HubFile, signal: AbortSignal): Promise<HubOffer>;
  /** Resolves when the file is whole by its length. */
  download(file: HubFile, request: HubDownload): Promise<void>;
}
