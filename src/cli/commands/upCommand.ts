import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onAbort, sha256Hex, utf8 } from '../../base/index.js';
import { locateLlamaLibraries, NodeMemoryReader, readModelDescription } from '../../platform/node/index.js';
import { cliError } from '../errors.js';
import { ModelUses } from '../ModelUses.js';
import { packageFolder } from '../packageFolder.js';
import { resolveModel } from '../resolveModel.js';
import { announceStop } from '../up/announceStop.js';
import { claimPlace } from '../up/claimPlace.js';
import { loadSample } from '../up/loadSample.js';
import type { ModelFile } from '../up/ModelFile.js';
import { prepareShards, type UpModels } from '../up/prepareShards.js';
import { resolveServed } from '../up/resolveServed.js';
import { type ReadyShard, type ShardEvent, ShardProcesses } from '../up/ShardProcesses.js';
import { shardProcessOptions } from '../up/shardProcessOptions.js';
import { shareMemory } from '../up/shareMemory.js';
import type { UpOptions } from '../up/UpOptions.js';

export interface UpFlags {
  readonly shards: number;
  readonly data: string;
  readonly port: number;
  readonly model: string;
  readonly embeddingModel: string;
  readonly embeddingPooling?: string;
  readonly embeddingDimensions?: readonly number[];
  readonly embeddingContext?: number;
  readonly hub?: string;
  readonly serve: readonly string[];
  readonly memoryBudget?: number;
  /** Seconds. */
  readonly idleUnload: number;
  readonly gpuLayers: number;
  readonly engine?: string;
  readonly apiKeyFile?: string;
  readonly adapter: readonly string[];
  readonly adapterFolder?: string;
  readonly sequences: number;
  readonly context: number;
  readonly memoryCheck: boolean;
  readonly acceptEmptyStore: boolean;
  readonly sample: boolean;
  readonly recordFrames?: string;
  readonly json: boolean;
}

const sampleDomains = ['legal', 'medical', 'engineering'];

/** `ostraka up`: models, certificates, shard processes, sample; runs until SIGINT or SIGTERM and leaves no process behind (R2). */
export async function upCommand(flags: UpFlags): Promise<void> {
  const options = toOptions(flags);
  const stopping = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopping.abort());
  const end = announceStop({
    stopping: stopping.signal,
    isJson: options.isJson,
    write: (line) => process.stderr.write(`${line}\n`),
  });
  await claimPlace(options);
  const models = options.openai === undefined ? await localModels(options, stopping.signal) : remoteModels(options);
  const prepared = await prepareShards(options, models);
  const reporter = makeReporter(options);
  const processes = new ShardProcesses({
    options: shardProcessOptions.parse({}),
    mainPath: fileURLToPath(new URL('../main.js', import.meta.url)),
    onEvent: (event) => reporter.event(event),
  });
  try {
    // A Ctrl-C during what was before has aborted already, and says so only once.
    const stopped = new Promise<'stopped'>((done) => onAbort(stopping.signal, () => done('stopped')));
    const ready = stopping.signal.aborted ? 'stopped' : await Promise.race([processes.start(prepared), stopped]);
    if (ready !== 'stopped') {
      if (options.withSample)
        await loadSample({
          url: (ready[0] as ReadyShard).httpUrl,
          dataFolder: options.dataFolder,
          signal: stopping.signal,
          report: (line) => reporter.line(line),
        });
      reporter.ready(ready);
      if (!stopping.signal.aborted) await stopped;
    }
  } finally {
    await processes.stop();
    end.stopped();
  }
  process.exit(0);
}

/** Found or fetched; refused where engines with them do not fit into memory, which they share. */
const localModels = async (options: UpOptions, signal: AbortSignal): Promise<UpModels> => {
  if (options.gpuLayers > 0) locateLlamaLibraries({ usesGpu: true });
  const { hub } = options;
  const chat = await resolveModel({ nameOrFile: options.model, kind: 'chat', hub, signal });
  const embedding = {
    ...(await resolveModel({ nameOrFile: options.embeddingModel, kind: 'embedding', hub, signal })),
    ...options.embedding,
  };
  const served = await resolveServed(options.served, { taken: ['default', chat.name, embedding.name], hub, signal });
  const models = { chat, embedding, served, memory: undefined };
  const free = options.checksMemory ? new NodeMemoryReader().read() : undefined;
  const memory = free && shareMemory(options, models, { free, describe: readModelDescription });
  await new ModelUses().claim([chat, embedding, ...served].map(({ path }) => path));
  return { ...models, memory };
};

/** No files: the shards ask the server what it has. */
const remoteModels = ({ openai, model, embeddingModel }: UpOptions): UpModels => {
  const of = (name: string): ModelFile => ({
    name,
    path: `openai:${openai?.url}`,
    digest: sha256Hex(utf8.encode(`${openai?.url} ${name}`)),
  });
  return { chat: of(model), embedding: of(embeddingModel), served: [], memory: undefined };
};

const toOptions = (flags: UpFlags): UpOptions => ({
  shards: flags.shards,
  dataFolder: resolve(flags.data),
  port: flags.port,
  model: flags.model,
  hub: flags.hub,
  embeddingModel: flags.embeddingModel,
  embedding: embeddingOf(flags),
  openai: parseEngine(flags),
  served: flags.serve,
  memoryBudgetBytes: flags.memoryBudget,
  idleUnloadMs: flags.idleUnload * 1000,
  gpuLayers: flags.gpuLayers,
  adapters: [...(flags.sample && flags.engine === undefined ? sampleAdapters() : []), ...flags.adapter.map(parseAdapter)],
  adapterFolder: flags.adapterFolder === undefined ? undefined : resolve(flags.adapterFolder),
  sequences: flags.sequences,
  contextTokens: flags.context,
  checksMemory: flags.memoryCheck,
  acceptEmptyStore: flags.acceptEmptyStore,
  withSample: flags.sample,
  isJson: flags.json,
  recordFramesFolder: flags.recordFrames === undefined ? undefined : resolve(flags.recordFrames),
});

const embeddingOf = ({ embeddingPooling: pooling, embeddingDimensions, embeddingContext }: UpFlags): UpOptions['embedding'] => {
  const lengths = {
    ...(embeddingDimensions && { dimensionsShorter: [...embeddingDimensions] }),
    ...(embeddingContext !== undefined && { textTokensMax: embeddingContext }),
  };
  if (pooling === undefined) return lengths;
  if (pooling !== 'mean' && pooling !== 'cls' && pooling !== 'last')
    throw cliError('USAGE', `--embedding-pooling ${pooling}: give mean, cls or last`);
  return { pooling, ...lengths };
};

/** `openai:http://host:port`; a trailing `/` or `/v1` is taken for the same server. */
const parseEngine = ({ engine, apiKeyFile, adapter, serve }: UpFlags): UpOptions['openai'] => {
  if (engine === undefined) return undefined;
  const url = /^openai:(https?:\/\/[^/\s]+)(?:\/v1)?\/?$/.exec(engine)?.[1];
  if (url === undefined) throw cliError('USAGE', `--engine ${engine}: give openai:http://host:port`);
  if (adapter.length > 0) throw cliError('USAGE', '--adapter needs an engine of the cluster: a model server takes none');
  if (serve.length > 0) throw cliError('USAGE', '--serve needs engines of the cluster: a model server serves no files');
  return { url, ...(apiKeyFile !== undefined && { apiKeyFile: resolve(apiKeyFile) }) };
};

const sampleAdapters = () =>
  sampleDomains.map((domain) => ({ domain, file: fileURLToPath(new URL(`sample/adapters/${domain}.gguf`, packageFolder)) }));

const parseAdapter = (text: string): { readonly domain: string; readonly file: string } => {
  const at = text.indexOf('=');
  if (at < 1 || at === text.length - 1) throw cliError('USAGE', `--adapter ${text}: give DOMAIN=FILE`);
  return { domain: text.slice(0, at), file: text.slice(at + 1) };
};

/** What `up` tells its user: lines for people on a terminal, JSON lines for programs. */
const makeReporter = (options: UpOptions) => {
  const write = (text: string): void => {
    process.stdout.write(`${text}\n`);
  };
  let isReady = false;
  const json = (value: unknown): void => write(JSON.stringify(value));
  return {
    line: (text: string): void => {
      if (!options.isJson) write(text);
    },
    event: (event: ShardEvent): void => {
      if (options.isJson) {
        if (isReady)
          json({
            event: event.kind,
            ...(event.kind === 'shard-ready' ? toPublic(event.shard) : { id: event.shardId, reason: event.reason }),
          });
      } else if (event.kind === 'shard-ready') write(`${event.shard.shardId} is ready at ${event.shard.httpUrl}`);
      else write(`${event.shardId} ${event.kind === 'shard-lost' ? 'was lost' : 'did not start'} (${event.reason}); starting it again`);
    },
    ready: (shards: readonly ReadyShard[]): void => {
      isReady = true;
      if (options.isJson) json({ ready: true, shards: shards.map(toPublic), dataDir: options.dataFolder });
      else write(welcome(options, shards));
    },
  };
};

const toPublic = ({ shardId, httpUrl, rpcPort, pid, enginePid }: ReadyShard) => ({ id: shardId, url: httpUrl, rpcPort, pid, enginePid });

const welcome = (options: UpOptions, shards: readonly ReadyShard[]): string => {
  const url = shards[0]?.httpUrl ?? '';
  const database = options.withSample ? ' --db sample' : '';
  const question = 'Who approves a contract over 50,000 euros?';
  const domain = options.withSample ? ` DOMAIN 'legal'` : '';
  const field = options.withSample ? ',"domain":"legal"' : '';
  return [
    '',
    `Ostraka is ready: ${shards.length} shards, data in ${options.dataFolder}. Ctrl-C stops it.`,
    ...shards.map(({ shardId, httpUrl }) => `  ${shardId}  ${httpUrl}`),
    'Try:',
    `  npx ostraka query${database} "RETURN INFER 'default' '${question}'${domain}" --url ${url}`,
    `  curl -s ${url}/v1/chat/completions -H 'content-type: application/json' -d '{"model":"default","messages":[{"role":"user","content":"${question}"}],"temperature":0${field}}'`,
    '',
  ].join('\n');
};
