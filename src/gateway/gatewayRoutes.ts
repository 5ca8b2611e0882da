import type { AdapterService, ClusterJobs, ClusterModelService } from '../cooperation/index.js';
import type { DocumentService, QueryService } from '../execution/index.js';
import type { TopologyView } from '../membership/index.js';
import type { Clock, Metrics, Random } from '../platform/index.js';
import type { RemoteExecutor } from '../rpc/index.js';
import type { Catalog, ConsistentHashRing } from '../sharding/index.js';
import { clusterRoutes } from './admin/clusterRoutes.js';
import { healthRoutes } from './admin/healthRoutes.js';
import { jobRoutes } from './admin/jobRoutes.js';
import type { CursorStore } from './data/CursorStore.js';
import { collectionRoutes } from './data/collectionRoutes.js';
import { databaseRoutes } from './data/databaseRoutes.js';
import { documentRoutes } from './data/documentRoutes.js';
import { queryRoutes } from './data/queryRoutes.js';
import { runningQueryRoutes } from './data/runningQueryRoutes.js';
import { versionRoutes } from './data/versionRoutes.js';
import { adapterRoutes } from './models/adapterRoutes.js';
import { chatRoutes } from './models/chat/chatRoutes.js';
import { completionRoutes } from './models/completionRoutes.js';
import { embeddingRoutes } from './models/embeddingRoutes.js';
import { messageRoutes } from './models/messages/messageRoutes.js';
import { modelListRoutes } from './models/modelListRoutes.js';
import { rerankRoutes } from './models/rerankRoutes.js';
import { responseRoutes } from './models/responses/responseRoutes.js';
import { tokenRoutes } from './models/tokenRoutes.js';
import type { GatewayOptions } from './options.js';
import type { Readiness } from './Readiness.js';
import type { Route } from './Route.js';

/** Every path of a shard's HTTP: one table. */
export function gatewayRoutes(parts: {
  readonly catalog: Catalog;
  readonly documents: DocumentService;
  readonly queries: QueryService;
  readonly cursors: CursorStore;
  readonly models: ClusterModelService;
  readonly adapters: AdapterService;
  readonly jobs: ClusterJobs;
  readonly executor: RemoteExecutor;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly random: Random;
  readonly options: GatewayOptions;
  readonly productVersion: string;
  readonly topology: () => TopologyView;
  readonly ring: () => ConsistentHashRing;
  readonly readiness: () => Readiness;
}): readonly Route[] {
  const { clock, options } = parts;
  const urls = (): readonly string[] => parts.topology().members.map(({ httpUrl }) => httpUrl);
  const completions = {
    models: parts.models,
    clock,
    random: parts.random,
    timeoutMs: options.inferenceTimeoutMs,
    pingMs: options.streamPingMs,
    limits: options,
  };
  return [
    ...versionRoutes({ productVersion: parts.productVersion, nowMs: () => clock.nowMs(), urls }),
    ...databaseRoutes(parts.catalog),
    ...collectionRoutes(parts),
    ...documentRoutes({ documents: parts.documents, documentsMax: options.documentsMax }),
    ...queryRoutes(parts),
    ...runningQueryRoutes({ queries: parts.queries, nowMs: () => clock.nowMs() }),
    ...chatRoutes(completions),
    ...completionRoutes(completions),
    ...responseRoutes(completions),
    ...messageRoutes(completions),
    ...tokenRoutes(parts),
    ...embeddingRoutes({ models: parts.models, textsMax: options.textsMax }),
    ...rerankRoutes({ models: parts.models, random: parts.random, documentsMax: options.textsMax }),
    ...adapterRoutes(parts),
    ...modelListRoutes(parts),
    ...healthRoutes(parts),
    ...clusterRoutes(parts),
    ...jobRoutes(parts),
  ];
}
