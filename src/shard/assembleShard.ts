import { asId, type ShardId } from '../base/index.js';
import {
  AdapterPublisher,
  AdapterService,
  adapterMethods,
  ClusterAdapters,
  ClusterJobs,
  ClusterModelService,
  declareCooperationMetrics,
  jobMethods,
  modelMethods,
  PrefixFetcher,
  ProgressRegistry,
  prefixMethods,
  ReportingLauncher,
  RequestRouter,
} from '../cooperation/index.js';
import {
  DocumentService,
  documentMethods,
  EmbedJobs,
  embedMethods,
  executionMethods,
  FairTurns,
  FragmentRunner,
  LocalDocuments,
  QueryMemory,
  QueryService,
  ShardTransactions,
} from '../execution/index.js';
import { CursorStore, Gateway, gatewayRoutes } from '../gateway/index.js';
import { GossipProtocol, gossipMethods, ShardRegistration } from '../membership/index.js';
import { EnginePool } from '../models/index.js';
import type {
  AdapterFiles,
  Clock,
  EngineLauncher,
  HttpListener,
  Logger,
  MemoryReader,
  MetadataStore,
  Metrics,
  ModelDescription,
  ModelFacts,
  OrderedStore,
  Random,
  Transport,
} from '../platform/index.js';
import { AdaptiveShardRouter, Reservations } from '../routing/index.js';
import { declareRpcMetrics, RemoteExecutor, RpcServer } from '../rpc/index.js';
import { Catalog, ShardingManager } from '../sharding/index.js';
import { claimStore, DocumentStore, GarbageCollector, JobRecords, type Timestamp } from '../storage/index.js';
import { DecisionLog, LocalTransactions, TransactionCoordinator, transactionMethods } from '../transactions/index.js';
import { Shard } from './Shard.js';
import type { ShardConfig } from './ShardConfig.js';
import { toEngineConfig } from './toEngineConfig.js';
import { toServedModels } from './toServedModels.js';

/** The ports of one shard. The shard closes what it was given when it stops. */
export interface ShardPlatform {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly store: OrderedStore;
  readonly metadata: MetadataStore;
  readonly transport: Transport;
  readonly listener: HttpListener;
  readonly launcher: EngineLauncher;
  readonly memory: MemoryReader;
  /** What a model file says of itself. Errors: MODEL_INVALID. */
  readonly describeModel: (path: string) => ModelDescription;
  readonly adapterFiles: AdapterFiles;
  /** Version of the product, for clients that ask. */
  readonly productVersion: string;
}

/**
 * Puts a shard together: the one visible place where its parts meet (R1). Builds in order, hands each part its options and collaborators
 * by name, registers the RPC table. Nothing runs before `start`.
 */
export function assembleShard(config: ShardConfig, platform: ShardPlatform): Shard {
  const { clock, random, metrics, metadata } = platform;
  const selfShardId = asId<ShardId>(config.process.shardId);
  const logger = platform.logger.child({ shard: selfShardId });

  const documentStore = DocumentStore.open({ store: platform.store, clock, options: config.storage });
  const timestamps = documentStore.timestamps;
  const exchange = { last: () => timestamps.last(), observe: (timestamp: number) => timestamps.observe(timestamp as Timestamp) };
  const garbage = new GarbageCollector({ store: platform.store, rowsMax: config.storage.garbageRowsMax });

  const rpcMetrics = declareRpcMetrics(metrics);
  const server = new RpcServer({ timestamps: exchange, clock, logger, metrics: rpcMetrics, options: config.rpc });
  const gossip = new GossipProtocol({ selfShardId, clock, random: random.fork('gossip'), logger, metrics, options: config.membership });
  const registration = new ShardRegistration({ metadata, clock, logger, options: config.membership });
  const executor = new RemoteExecutor({
    selfShardId,
    transport: platform.transport,
    server,
    peers: gossip,
    clock,
    random: random.fork('rpc'),
    timestamps: exchange,
    metrics: rpcMetrics,
    logger,
    options: config.rpc,
  });

  const catalog = new Catalog({ metadata });
  const sharding = new ShardingManager({ metadata, logger });
  const decisions = new DecisionLog({ metadata, options: config.transactions });
  const localTransactions = new LocalTransactions({
    selfShardId,
    documents: documentStore,
    decisions,
    clock,
    logger,
    options: config.transactions,
  });
  const transactions = new TransactionCoordinator({
    executor,
    timestamps,
    decisions,
    clock,
    random: random.fork('transactions'),
    logger,
    metrics,
    options: config.transactions,
  });

  const progress = new ProgressRegistry({ shardId: selfShardId, clock, options: config.cooperation });
  const engine = new EnginePool({
    launcher: new ReportingLauncher({ launcher: platform.launcher, progress }),
    config: toEngineConfig(config),
    served: toServedModels(config),
    memory: platform.memory,
    describe: platform.describeModel,
    options: config.engine,
    clock,
    logger,
    metrics,
  });
  const cooperationMetrics = declareCooperationMetrics(metrics);
  const router = new RequestRouter({
    router: new AdaptiveShardRouter(config.routing),
    reservations: new Reservations(),
    topology: () => gossip.view(),
    ring: () => sharding.ring,
    executor,
    progress: () => engine.progress,
    retryAfterSeconds: config.engine.loadingRetrySeconds,
    clock,
    metrics: cooperationMetrics,
  });
  const prefixes = new PrefixFetcher({
    local: engine.prefixes,
    executor,
    topology: () => gossip.view(),
    clock,
    logger,
    metrics: cooperationMetrics,
    options: config.cooperation,
  });
  const models = new ClusterModelService({
    prefixes,
    router,
    executor,
    local: engine,
    clock,
    logger,
    metrics: cooperationMetrics,
    options: config.cooperation,
    onUnreachable: (shardId, refused) => gossip.reportUnreachable(shardId, refused),
  });
  const factsOf = (name: string): ModelFacts | undefined =>
    engine.models().find((one) => one.kind === 'embedding' && (name === 'default' || name === one.name));
  const publisher = new AdapterPublisher({ modelService: engine, gossip, clock, logger });
  const adapters = new AdapterService({
    publisher,
    files: platform.adapterFiles,
    progress,
    topology: () => gossip.view(),
    clock,
    logger,
    options: config.cooperation,
  });

  const turns = new FairTurns({ clock, options: config.execution });
  const localDocuments = new LocalDocuments({ documents: documentStore, turns, options: config.storage });
  const documents = new DocumentService({
    catalog,
    sharding,
    executor,
    clock,
    random: random.fork('documents'),
    options: config.execution,
  });

  const queryMemory = new QueryMemory(config.execution.memoryTotalBytesMax);
  const fragments = new FragmentRunner({
    queryMemory,
    shardId: selfShardId,
    transactions: new ShardTransactions({ local: localTransactions, documents: documentStore }),
    sharding,
    models,
    clock,
    turns,
    random: random.fork('fragments'),
    options: config.execution,
  });
  const embedJobs = new EmbedJobs({
    shardId: selfShardId,
    documents: documentStore,
    records: new JobRecords({ store: platform.store }),
    sharding,
    models,
    factsOf,
    progress,
    clock,
    turns,
    random: random.fork('embedding'),
    logger,
    options: config.execution,
    queryMemory,
  });
  const queries = new QueryService({
    queryMemory,
    catalog,
    sharding,
    executor,
    transactions,
    models,
    adapters: new ClusterAdapters({ gossip, executor, options: config.cooperation }),
    clock,
    turns,
    random: random.fork('queries'),
    logger,
    metrics,
    options: config.execution,
  });
  const cursors = new CursorStore({ clock, random: random.fork('cursors'), options: config.gateway });

  const gateway: Gateway = new Gateway({
    listener: platform.listener,
    clock,
    random: random.fork('requests'),
    logger,
    metrics,
    options: config.gateway,
    apiKey: config.process.apiKey,
    checkDatabase: (name) => catalog.database(name),
    routes: gatewayRoutes({
      catalog,
      documents,
      queries,
      cursors,
      models,
      adapters,
      jobs: new ClusterJobs({ executor, topology: () => gossip.view(), options: config.cooperation }),
      executor,
      metrics,
      clock,
      random: random.fork('gateway'),
      options: config.gateway,
      productVersion: platform.productVersion,
      topology: () => gossip.view(),
      ring: () => sharding.ring,
      readiness: () => shard.readiness(),
    }),
  });

  server.register({
    ...gossipMethods(gossip),
    ...transactionMethods(localTransactions),
    ...executionMethods(fragments),
    ...embedMethods({ jobs: embedJobs, sharding, clock, heartbeatMs: config.cooperation.heartbeatMs }),
    ...jobMethods({ progress, cancel: (job) => embedJobs.cancel(job) }),
    ...documentMethods({ documents: localDocuments, sharding, turns, options: config.execution }),
    ...adapterMethods(adapters),
    ...modelMethods({ modelService: engine, prefixes, clock, options: config.cooperation }),
    ...prefixMethods({ local: engine.prefixes, fetcher: prefixes, options: config.cooperation }),
  });

  const shard: Shard = new Shard({
    config,
    clock,
    logger,
    store: platform.store,
    metadata,
    transport: platform.transport,
    documentStore,
    garbage,
    server,
    executor,
    gossip,
    registration,
    claim: () =>
      claimStore({
        store: platform.store,
        metadata,
        shardId: selfShardId,
        random: random.fork('store'),
        acceptEmpty: config.process.acceptEmptyStore,
      }),
    catalog,
    sharding,
    localTransactions,
    transactions,
    engine,
    publisher,
    adapters,
    embedJobs,
    cursors,
    gateway,
  });
  return shard;
}
