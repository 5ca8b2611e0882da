import { asId, type ShardId } from '../../../src/base/index.js';
import { transportConformance } from '../../../src/platform/conformance/transportConformance.js';
import { Http2Transport, mintCertificates, NodeClock } from '../../../src/platform/node/index.js';
import { EventLog } from '../../support/silentPorts.js';

const clock = new NodeClock();
const clusterName = 'conformance';
let open: readonly Http2Transport[] = [];

transportConformance({
  name: 'HTTP/2 with mutual TLS',
  open: async () => {
    const { authority, shards } = await mintCertificates({ clusterName, shardIds: ['caller', 'callee'], nowMs: clock.nowMs() });
    const [caller, callee] = ['caller', 'callee'].map((id) => {
      const { certificate, key } = shards.get(id) as { readonly certificate: string; readonly key: string };
      return new Http2Transport({
        clusterName,
        selfShardId: asId<ShardId>(id),
        host: '127.0.0.1',
        port: 0,
        certificates: { authorities: [authority], certificate, key },
        connectTimeoutMs: 2_000,
        pingIntervalMs: 2_000,
        frameBytesMax: 1 << 20,
        framesQueuedMax: 16,
        logger: new EventLog(),
        recordFrame: undefined,
      });
    }) as [Http2Transport, Http2Transport];
    open = [caller, callee];
    return { caller, callee };
  },
  dispose: async () => {
    for (const transport of open) await transport.close();
  },
  pass: (ms) => clock.sleep(ms),
});
