import { asId, type ShardId } from '../src/base/index.js';
import { Http2Transport, mintCertificates, NodeClock, NodeRandom, PinoLogger, PrometheusMetrics } from '../src/platform/node/index.js';
import { declareRpcMetrics, RemoteExecutor, type RpcMethod, RpcServer, rpcOptions } from '../src/rpc/index.js';
import { DelayLink, type LinkShape } from './DelayLink.js';

/** Shards `a` and `b` with mutual TLS on loopback, `b` answering by methods; `a` reaches it over a link of the given shape, or directly. */
export async function openPeerPair({
  methods,
  link,
}: {
  readonly methods: { readonly [name: string]: RpcMethod };
  readonly link?: LinkShape;
}) {
  const clock = new NodeClock();
  const logger = PinoLogger.open({ level: 'error', destination: 2 });
  const { authority, shards } = await mintCertificates({ clusterName: 'bench', shardIds: ['a', 'b'], nowMs: Date.now() });
  const timestamps = { last: () => 0, observe: () => undefined };
  const open = (id: string, served: { readonly [name: string]: RpcMethod }) => {
    const certificate = shards.get(id);
    const metrics = declareRpcMetrics(new PrometheusMetrics());
    const server = new RpcServer({ timestamps, clock, logger, metrics, options: rpcOptions.parse({}) });
    server.register(served);
    const transport = new Http2Transport({
      clusterName: 'bench',
      selfShardId: asId<ShardId>(id),
      host: '127.0.0.1',
      port: 0,
      certificates: { authorities: [authority], certificate: certificate?.certificate ?? '', key: certificate?.key ?? '' },
      connectTimeoutMs: 5_000,
      pingIntervalMs: 5_000,
      frameBytesMax: 64 << 20,
      framesQueuedMax: 16,
      logger,
      recordFrame: undefined,
    });
    return { server, transport, metrics };
  };
  const a = open('a', methods);
  const b = open('b', methods);
  const { address: direct } = await b.transport.listen(b.server.handle);
  const delay = link === undefined ? undefined : await DelayLink.open(direct.port, link);
  const address = delay === undefined ? direct : { host: '127.0.0.1', port: delay.port };
  const executor = new RemoteExecutor({
    selfShardId: asId<ShardId>('a'),
    transport: a.transport,
    server: a.server,
    peers: { find: () => ({ address, incarnation: 1 }) },
    clock,
    random: new NodeRandom(),
    timestamps,
    metrics: a.metrics,
    logger,
    options: rpcOptions.parse({}),
  });
  const close = async (): Promise<void> => {
    await a.transport.close();
    await b.transport.close();
    delay?.close();
  };
  return { executor, close };
}
