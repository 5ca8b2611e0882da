import type { ClientHttp2Session } from 'node:http2';
import { afterEach, expect, test, vi } from 'vitest';
import { asId, type ShardId } from '../../../src/base/index.js';
import { Http2Transport, mintCertificates, NodeClock } from '../../../src/platform/node/index.js';
import { EventLog } from '../../support/silentPorts.js';

const made = vi.hoisted((): ClientHttp2Session[] => []);
vi.mock('node:http2', async (original) => {
  const real = await original<typeof import('node:http2')>();
  const connect = (...args: Parameters<typeof real.connect>): ClientHttp2Session => {
    const session = real.connect(...args);
    made.push(session);
    return session;
  };
  return { ...real, connect };
});

const clock = new NodeClock();
const open: Http2Transport[] = [];
afterEach(async () => {
  for (const transport of open) await transport.close();
});

test('a session that is destroyed and never says that it is closed: the next call opens another, and its ping throws nothing', async () => {
  const { authority, shards } = await mintCertificates({ clusterName: 'c', shardIds: ['caller', 'callee'], nowMs: clock.nowMs() });
  const [caller, callee] = ['caller', 'callee'].map((id) => {
    const { certificate, key } = shards.get(id) as { readonly certificate: string; readonly key: string };
    return new Http2Transport({
      clusterName: 'c',
      selfShardId: asId<ShardId>(id),
      host: '127.0.0.1',
      port: 0,
      certificates: { authorities: [authority], certificate, key },
      connectTimeoutMs: 2_000,
      pingIntervalMs: 20,
      frameBytesMax: 1 << 20,
      framesQueuedMax: 16,
      logger: new EventLog(),
      recordFrame: undefined,
    });
  }) as [Http2Transport, Http2Transport];
  open.push(caller, callee);
  const { address } = await callee.listen(async function* () {
    yield new Uint8Array([7]);
  });
  const ask = async (): Promise<number[]> => {
    const answer: number[] = [];
    const peer = { shardId: asId<ShardId>('callee'), address };
    const signal = new AbortController().signal;
    for await (const frame of caller.call({ peer, method: 'm', headers: {}, body: new Uint8Array([1]), channel: 'control', signal }))
      answer.push(...frame);
    return answer;
  };
  expect(await ask()).toEqual([7]);
  // What Node does where a killed peer leaves a write open: destroyed, and no 'close'.
  made[0]?.removeAllListeners('close');
  made[0]?.destroy();
  expect(await ask()).toEqual([7]);
  await clock.sleep(100);
});
