import { sha256Hex, utf8 } from '../../base/index.js';
import type { Clock, EngineConfig, EngineExit, EngineLauncher, LaunchedEngine, ModelFacts } from '../index.js';
import { platformError } from '../index.js';
import { OpenAiClient } from './OpenAiClient.js';
import { OpenAiModelService } from './OpenAiModelService.js';

export interface OpenAiEngineOptions {
  /** `http://host:port`, without `/v1`. */
  readonly url: string;
  readonly apiKey: string | undefined;
  /** Names on the server; absent: its first model, and no embeddings. */
  readonly chatModel: string | undefined;
  readonly embeddingModel: string | undefined;
  readonly clock: Clock;
}

/** The engine is a server that the user runs: starting it is looking whether it answers, losing it that it does not. Errors: ENGINE_LOST, MODEL_UNKNOWN, ENGINE_KEY_REFUSED. */
export class OpenAiEngineLauncher implements EngineLauncher {
  readonly #options: OpenAiEngineOptions;

  constructor(options: OpenAiEngineOptions) {
    this.#options = options;
  }

  async launch(config: EngineConfig, signal: AbortSignal): Promise<LaunchedEngine> {
    let lose: (exit: EngineExit) => void = () => undefined;
    const exited = new Promise<EngineExit>((resolve) => {
      lose = resolve;
    });
    const { url, apiKey, clock } = this.#options;
    const client = new OpenAiClient({ url, apiKey, onLost: (reason) => lose({ reason, byItself: false }) });
    const chat = await this.#chatFacts(client, config, signal);
    const modelService = new OpenAiModelService({
      client,
      models: { chat, embedding: await this.#embeddingFacts(client, signal) },
      clock,
      sequences: config.sequences,
    });
    const never = new AbortController().signal;
    return {
      modelService,
      pid: 0,
      residentBytes: () => undefined,
      exited,
      ping: async () => void (await client.json('/v1/models', undefined, never)),
      kill: () => lose({ reason: `the model server at ${url} does not answer`, byItself: true }),
      stop: async () => lose({ reason: 'stopped', byItself: false }),
    };
  }

  async #chatFacts(client: OpenAiClient, config: EngineConfig, signal: AbortSignal): Promise<ModelFacts> {
    const answer = (await client.json('/v1/models', undefined, signal)) as { readonly data?: readonly ListedModel[] };
    const models = answer.data ?? [];
    const wanted = this.#options.chatModel;
    const found = wanted === undefined ? models[0] : models.find(({ id }) => id === wanted);
    if (found === undefined)
      throw platformError(
        'MODEL_UNKNOWN',
        `the model server has no model ${wanted ?? 'at all'}; it has ${models.map(({ id }) => id).join(', ')}`,
      );
    const contextTokensMax = found.max_model_len ?? found.meta?.n_ctx ?? found.meta?.n_ctx_train ?? config.contextTokens;
    return { name: found.id, digest: this.#identity(found.id), kind: 'chat', contextTokensMax };
  }

  /** One vector tells their length. */
  async #embeddingFacts(client: OpenAiClient, signal: AbortSignal): Promise<ModelFacts | undefined> {
    const name = this.#options.embeddingModel;
    if (name === undefined) return undefined;
    const body = { model: name, input: ['Hello'], encoding_format: 'float' };
    const answer = (await client.json('/v1/embeddings', body, signal)) as {
      readonly data?: readonly { readonly embedding?: readonly number[] }[];
    };
    const dimensions = answer.data?.[0]?.embedding?.length;
    if (!dimensions) throw platformError('MODEL_UNKNOWN', `the model server gives no vectors of ${name}`);
    return { name, digest: this.#identity(name), kind: 'embedding', contextTokensMax: 0, dimensions };
  }

  /** The weights are not known: a model is what its server calls so. */
  #identity(name: string): string {
    return sha256Hex(utf8.encode(`${this.#options.url} ${name}`));
  }
}

interface ListedModel {
  readonly id: string;
  readonly max_model_len?: number;
  readonly meta?: { readonly n_ctx?: number; readonly n_ctx_train?: number } | null;
}
