import { access, mkdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { platformError } from '../../platform/index.js';
import { checkModelFile, mintCertificates } from '../../platform/node/index.js';
import { cliError } from '../errors.js';
import type { StartConfigInput } from '../StartConfig.js';
import { writeFileWhole } from '../writeFileWhole.js';
import type { ModelFile } from './ModelFile.js';
import { readFigures } from './readFigures.js';
import type { ServedFile } from './ServedFile.js';
import type { ShardMemory } from './ShardMemory.js';
import type { UpOptions } from './UpOptions.js';

/** What the shards of one `up` serve. */
export interface UpModels {
  readonly chat: ModelFile;
  readonly embedding: ModelFile & UpOptions['embedding'];
  readonly served: readonly ServedFile[];
  /** Undefined: the shards bound themselves, by what is free or what the options say. */
  readonly memory: ShardMemory | undefined;
}

/** One shard that `up` will start. */
export interface PreparedShard {
  readonly shardId: string;
  readonly configFile: string;
  readonly logFile: string;
}

const clusterName = 'local';

/** Writes certificates (kept between starts) and one configuration file a shard into the data folder. */
export async function prepareShards(options: UpOptions, models: UpModels): Promise<readonly PreparedShard[]> {
  const shardIds = Array.from({ length: options.shards }, (_, i) => `shard-${i}`);
  await checkShardCount(options.dataFolder, options.shards);
  await ensureCertificates(options.dataFolder, shardIds);
  const adapters = await Promise.all(options.adapters.map((adapter) => describeAdapter(adapter)));
  return Promise.all(
    shardIds.map(async (shardId, index) => {
      const own = adapters.filter((_, k) => k % options.shards === index);
      const config = configOf(options, { shardId, index, shardIds, adapters: own, models });
      const folder = join(options.dataFolder, 'shards', shardId);
      await mkdir(folder, { recursive: true });
      const configFile = join(folder, 'shard.json');
      await writeFileWhole(configFile, `${JSON.stringify(config, undefined, 2)}\n`, { mode: 0o600 });
      return { shardId, configFile, logFile: join(folder, 'log.jsonl') };
    }),
  );
}

// The ring names its shards: other numbers need a rebalancing that this version does not have (R5).
const checkShardCount = async (dataFolder: string, shards: number): Promise<void> => {
  const path = join(dataFolder, 'cluster.json');
  const stored = await readFile(path, 'utf8').catch(() => undefined);
  if (stored === undefined) {
    await writeFileWhole(path, `${JSON.stringify({ shards })}\n`, { mode: 0o644 });
    return;
  }
  const known = shardsOf(stored);
  if (known === undefined) throw cliError('CONFIG_INVALID', `${path} is not what Ostraka wrote there: put {"shards":N} into it`);
  if (known !== shards)
    throw cliError('USAGE', `${dataFolder} was made with ${known} shards; give --shards ${known}, or another --data folder`);
};

const shardsOf = (text: string): number | undefined => {
  try {
    return (JSON.parse(text) as { readonly shards?: number }).shards;
  } catch {
    return undefined;
  }
};

const ensureCertificates = async (dataFolder: string, shardIds: readonly string[]): Promise<void> => {
  const folder = join(dataFolder, 'certificates');
  const exist = await Promise.all(
    ['authority', ...shardIds].map((name) =>
      access(join(folder, `${name}.pem`)).then(
        () => true,
        () => false,
      ),
    ),
  );
  if (exist.every(Boolean)) return;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const { authority, shards } = await mintCertificates({ clusterName, shardIds, nowMs: Date.now() });
  for (const [shardId, { certificate, key }] of shards) {
    await writeFileWhole(join(folder, `${shardId}.pem`), certificate, { mode: 0o644 });
    await writeFileWhole(join(folder, `${shardId}.key`), key, { mode: 0o600 });
  }
  await writeFileWhole(join(folder, 'authority.pem'), authority, { mode: 0o644 });
};

const describeAdapter = async ({ domain, file }: UpOptions['adapters'][number]) => {
  const path = resolve(file);
  // The engine would refuse it too, but only when the shards have started, and then again and again.
  const refuse = (reason: string, cause?: unknown) =>
    platformError('ADAPTER_INVALID', `adapter ${file} of ${domain}: ${reason}`, { cause });
  const { digest, type } = checkModelFile(path, refuse);
  if (type !== 'adapter') throw refuse(`it is a GGUF file of type ${type ?? 'model'}, no adapter`);
  return { domain, path, figures: await readFigures(path, digest) };
};

/** Models of a server go by the names that it has for them. */
const remoteEngine = ({ openai, model, embeddingModel }: UpOptions): { readonly openai?: object } & StartConfigInput['shard']['engine'] => {
  if (openai === undefined) return {};
  const names = { ...(model !== 'default' && { chatModel: model }), ...(embeddingModel !== 'default' && { embeddingModel }) };
  return { openai: { ...openai, ...names } };
};

const configOf = (
  options: UpOptions,
  given: {
    readonly shardId: string;
    readonly index: number;
    readonly shardIds: readonly string[];
    readonly adapters: StartConfigInput['shard']['process']['adapters'];
    readonly models: UpModels;
  },
): StartConfigInput => {
  const { shardId, index } = given;
  const { textTokensMax } = options.embedding;
  const textTokens = textTokensMax === undefined ? {} : { textTokensMax };
  const certificate = (name: string): string => join(options.dataFolder, 'certificates', name);
  const folder = join(options.dataFolder, 'shards', shardId);
  return {
    dataFolder: join(folder, 'documents'),
    metadataFolder: join(options.dataFolder, 'metadata'),
    certificates: {
      authority: certificate('authority.pem'),
      certificate: certificate(`${shardId}.pem`),
      key: certificate(`${shardId}.key`),
    },
    ...(options.adapterFolder !== undefined && { adapterFolder: options.adapterFolder }),
    log: { level: 'info', file: join(folder, 'log.jsonl') },
    ...(options.recordFramesFolder === undefined ? {} : { recordFramesFile: join(options.recordFramesFolder, `${shardId}.jsonl`) }),
    shard: {
      cluster: {
        name: clusterName,
        initialShards: [...given.shardIds],
        sequences: options.sequences,
        contextTokens: options.contextTokens,
        chatModel: given.models.chat,
        embeddingModel: given.models.embedding,
      },
      engine: {
        checkMemory: options.checksMemory,
        idleUnloadMs: options.idleUnloadMs,
        ...(options.memoryBudgetBytes !== undefined && { memoryBudgetBytes: options.memoryBudgetBytes }),
        ...given.models.memory,
        ...remoteEngine(options),
      },
      process: {
        shardId,
        httpPort: options.port + index,
        rpcPort: options.port + 100 + index,
        gpuLayers: options.gpuLayers,
        models: given.models.served.map((model) => (model.kind === 'embedding' ? { ...model, ...textTokens } : model)),
        adapters: given.adapters,
        acceptEmptyStore: options.acceptEmptyStore,
      },
    },
  };
};
