import { openToyEngine, type ScriptedAnswer, ToyEmbeddingBackend } from '../../sim/engine/index.js';
import { asId, type ShardId, utf8 } from '../../src/base/index.js';
import {
  ClusterModelService,
  cooperationOptions,
  declareCooperationMetrics,
  modelMethods,
  RequestRouter,
} from '../../src/cooperation/index.js';
import { Gateway, gatewayOptions, gatewayRoutes } from '../../src/gateway/index.js';
import type { HttpResponse, ModelService } from '../../src/platform/index.js';
import { AdaptiveShardRouter, Reservations, routingOptions } from '../../src/routing/index.js';
import { declareRpcMetrics, RemoteExecutor, RpcServer, rpcOptions } from '../../src/rpc/index.js';
import { assignSlots, ConsistentHashRing } from '../../src/sharding/index.js';
import { ScriptedTransport } from './ScriptedTransport.js';
import { CountingRandom, EventLog, silentMetrics } from './silentPorts.js';
import { topologyMember } from './topologyMember.js';

const self = asId<ShardId>('s');

interface ToyAnswer {
  readonly status: number;
  readonly headers: HttpResponse['headers'];
  readonly text: string;
}

interface ToyGatewayOptions {
  readonly script: readonly ScriptedAnswer[];
  /** Requests that wait for the engine; more are refused. */
  readonly queueRequestsMax?: number;
  /** Stands in the engine's place before everything else. */
  readonly wrap?: (engine: ModelService) => ModelService;
}

/** The model surfaces of one shard, from bytes of HTTP to a toy model and back: gateway, routing, RPC and engine are the product's. */
export function openToyGateway({ script, queueRequestsMax = 256, wrap = (engine) => engine }: ToyGatewayOptions) {
  const log = new EventLog();
  const random = new CountingRandom();
  const bounds = { sequences: 4, contextTokens: 2048, queueRequestsMax };
  const { engine, clock } = openToyEngine({ ...bounds, random, logger: log, script, embeddingBackend: new ToyEmbeddingBackend() });
  const modelService = wrap(engine);
  const options = cooperationOptions.parse({});
  const rpc = { clock, logger: log, metrics: declareRpcMetrics(silentMetrics), timestamps: { last: () => 1, observe: () => undefined } };
  const server = new RpcServer({ ...rpc, options: rpcOptions.parse({}) });
  server.register(modelMethods({ modelService, prefixes: { prepare: async () => undefined }, clock, options }));
  const transport = new ScriptedTransport(() => {
    throw new Error('nobody else is asked');
  });
  const peers = { find: () => undefined };
  const executor = new RemoteExecutor({ ...rpc, selfShardId: self, transport, server, peers, random, options: rpcOptions.parse({}) });
  const metrics = declareCooperationMetrics(silentMetrics);
  const ring = ConsistentHashRing.of(1, assignSlots([self]));
  const members = [topologyMember(self, { models: [{ name: 'toy-chat', digest: '0'.repeat(64), kind: 'chat' }] })];
  const router = new RequestRouter({
    router: new AdaptiveShardRouter(routingOptions.parse({})),
    reservations: new Reservations(),
    topology: () => ({ epoch: 1, selfShardId: self, members }),
    ring: () => ring,
    executor,
    clock,
    metrics,
    progress: () => undefined,
    retryAfterSeconds: 1,
  });
  const models = new ClusterModelService({
    prefixes: { tokensOf: async () => new Map() },
    router,
    executor,
    local: modelService,
    clock,
    logger: log,
    metrics,
    options,
    onUnreachable: () => undefined,
  });
  const limits = gatewayOptions.parse({ streamPingMs: 10_000_000 }); // an answer that fails is to fail before its head
  const gateway = new Gateway({
    listener: { listen: async () => ({ port: 0 }), close: async () => undefined },
    routes: gatewayRoutes({ models, random, clock, options: limits } as never),
    clock,
    random,
    logger: log,
    metrics: silentMetrics,
    options: limits,
    apiKey: undefined,
    checkDatabase: async () => undefined,
  });
  const post = async (path: string, body: Uint8Array): Promise<ToyAnswer> => {
    const headers = { host: 'localhost', 'content-type': 'application/json' };
    const { signal } = new AbortController();
    const answer = await gateway.handle({ method: 'POST', path, headers, query: new Map(), body, signal } as never);
    return { status: answer.status, headers: answer.headers, text: await textOf(answer) };
  };
  return { post, log, engine };
}

async function textOf({ body }: HttpResponse): Promise<string> {
  if (typeof body === 'string') return body;
  if (body instanceof Uint8Array) return utf8.decode(body);
  let text = '';
  for await (const piece of body) text += utf8.decode(piece);
  return text;
}
