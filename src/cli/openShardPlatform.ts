import { appendFileSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { asId, type ShardId } from '../base/index.js';
import { MemoryCheckedLauncher } from '../models/index.js';
import { ChecksummedStore, type Clock, type EngineLauncher, type Logger } from '../platform/index.js';
import {
  ChildEngineLauncher,
  FastifyHttpListener,
  Http2Transport,
  LmdbMetadataStore,
  LmdbOrderedStore,
  NodeClock,
  NodeMemoryReader,
  NodeRandom,
  OpenAiEngineLauncher,
  PinoLogger,
  PrometheusMetrics,
  readModelDescription,
} from '../platform/node/index.js';
import type { ShardPlatform } from '../shard/index.js';
import { DiskAdapterFiles } from './DiskAdapterFiles.js';
import { cliError } from './errors.js';
import { openDataFolder } from './openDataFolder.js';
import { productVersion } from './productVersion.js';
import type { StartConfig } from './StartConfig.js';

const limits = {
  connectTimeoutMs: 5_000,
  pingIntervalMs: 5_000,
  frameBytesMax: 64 << 20,
  framesQueuedMax: 256,
  engineStopMsMax: 2_000,
} as const;

/** The real adapters of one shard. Errors: DATA_FOLDER_IN_USE, DATA_FORMAT_NEWER, CONFIG_INVALID (certificates). */
export async function openShardPlatform(config: StartConfig): Promise<ShardPlatform> {
  const clock = new NodeClock();
  const { level, file } = config.log;
  const logger = PinoLogger.open({ level, destination: file ?? 2 });
  const { hasChecksums } = await openDataFolder(config.dataFolder);
  await mkdir(config.metadataFolder, { recursive: true });
  const [authority, certificate, key] = await Promise.all(
    [config.certificates.authority, config.certificates.certificate, config.certificates.key].map(readPem),
  );
  const { cluster, process: own } = config.shard;
  const metrics = new PrometheusMetrics();
  metrics.addProcessMetrics();
  const store = new LmdbOrderedStore({ folder: config.dataFolder, removeReserveBytes: config.shard.storage.removeReserveBytes });
  return {
    clock,
    random: new NodeRandom(),
    logger,
    metrics,
    store: hasChecksums ? new ChecksummedStore(store) : store,
    metadata: new LmdbMetadataStore({ folder: config.metadataFolder, clock }),
    transport: new Http2Transport({
      clusterName: cluster.name,
      selfShardId: asId<ShardId>(own.shardId),
      host: own.host,
      port: own.rpcPort,
      certificates: { authorities: [authority as string], certificate: certificate as string, key: key as string },
      ...limits,
      logger,
      recordFrame: recorder(config.recordFramesFile),
    }),
    listener: new FastifyHttpListener(),
    launcher: await openLauncher(config, { logger, clock }),
    memory: new NodeMemoryReader(),
    describeModel: readModelDescription,
    adapterFiles: new DiskAdapterFiles({
      folder: config.adapterFolder,
      listFile: join(config.dataFolder, 'adapters.json'),
      bytesMax: config.adapterBytesMax,
    }),
    productVersion: await productVersion(),
  };
}

const openLauncher = async (
  { shard }: StartConfig,
  { logger, clock }: { readonly logger: Logger; readonly clock: Clock },
): Promise<EngineLauncher> => {
  const { openai } = shard.engine;
  if (openai !== undefined) return openRemote(openai, clock);
  const launcher = new ChildEngineLauncher({
    engineMainPath: fileURLToPath(new URL('./engineMain.js', import.meta.url)),
    stopMsMax: limits.engineStopMsMax,
    logger,
  });
  if (!shard.engine.checkMemory) return launcher;
  return new MemoryCheckedLauncher({ launcher, memory: new NodeMemoryReader(), describe: readModelDescription });
};

const openRemote = async (server: NonNullable<StartConfig['shard']['engine']['openai']>, clock: Clock): Promise<EngineLauncher> => {
  const { url, apiKeyFile, chatModel, embeddingModel } = server;
  return new OpenAiEngineLauncher({ url, apiKey: await readApiKey(apiKeyFile), chatModel, embeddingModel, clock });
};

const readApiKey = async (file: string | undefined): Promise<string | undefined> => {
  if (file === undefined) return undefined;
  const text = await readFile(file, 'utf8').catch((error: Error) => {
    throw cliError('CONFIG_INVALID', `cannot read the key of the model server: ${error.message}`, { cause: error });
  });
  return text.trim();
};

/** What is no PEM would fail in the middle of a start, without its name. */
const readPem = async (path: string): Promise<string> => {
  const text = await readFile(path, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    throw cliError('CONFIG_INVALID', `${path} cannot be read (${cause.code})`, { cause });
  });
  if (!text.includes('-----BEGIN ')) throw cliError('CONFIG_INVALID', `${path} holds no certificate or key in PEM form`);
  return text;
};

const recorder = (file: string | undefined) =>
  file === undefined
    ? undefined
    : ({ peer, method, bytes }: { readonly peer: string; readonly method: string; readonly bytes: Uint8Array }): void => {
        appendFileSync(file, `${JSON.stringify({ peer, method, text: Buffer.from(bytes).toString('utf8') })}\n`);
      };
