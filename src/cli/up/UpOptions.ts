/** `ostraka up`, flags resolved. */
export interface UpOptions {
  readonly shards: number;
  readonly dataFolder: string;
  readonly port: number;
  readonly model: string;
  /** Base address of a hub, in the place of HF_ENDPOINT. */
  readonly hub: string | undefined;
  readonly embeddingModel: string;
  /** What is said of the embedding model besides its file. */
  readonly embedding: {
    readonly pooling?: 'mean' | 'cls' | 'last';
    readonly dimensionsShorter?: number[];
    /** Of served embedding models, too. */
    readonly textTokensMax?: number;
  };
  /** `[NAME=]MODEL`, served beside these two. */
  readonly served: readonly string[];
  /** Of the engines of one shard together; undefined = a share of what is free. */
  readonly memoryBudgetBytes: number | undefined;
  /** 0 = a served model is unloaded only for another one. */
  readonly idleUnloadMs: number;
  readonly adapters: readonly { readonly domain: string; readonly file: string }[];
  /** Adapters loaded over HTTP must lie below it; undefined = any absolute path. */
  readonly adapterFolder: string | undefined;
  readonly sequences: number;
  readonly contextTokens: number;
  /** A model server that every shard uses instead of an engine of its own. */
  readonly openai: { readonly url: string; readonly apiKeyFile?: string } | undefined;
  readonly gpuLayers: number;
  /** Engines that do not fit into what is free are refused. */
  readonly checksMemory: boolean;
  /** Shards start with stores that are not those they had. */
  readonly acceptEmptyStore: boolean;
  readonly withSample: boolean;
  readonly isJson: boolean;
  /** Diagnosis: a folder where every shard appends the frames it receives. */
  readonly recordFramesFolder: string | undefined;
}
