// Claim (R24, R33): the whole added cost of asking another shard is <= 2 ms at the median on loopback (paper: 5 ms). A unary call over
// HTTP/2 with mutual TLS through RemoteExecutor and RpcServer, against the same call to oneself, which goes through the same server
// without the network; interleaved call by call.
import { asId, type ShardId } from '../src/base/index.js';
import type { RemoteExecutor } from '../src/rpc/index.js';
import type { BenchResult } from './BenchResult.js';
import { measured } from './measured.js';
import { openPeerPair } from './openPeerPair.js';

const targetMs = 2;

export async function hopBench(options: { readonly quick: boolean }): Promise<BenchResult[]> {
  const { runs, calls } = options.quick ? { runs: 5, calls: 200 } : { runs: 15, calls: 1_000 };
  const pair = await openPeerPair({
    methods: {
      echo: async function* ({ body }) {
        yield body;
      },
    },
  });
  const added: number[] = [];
  const remote: number[] = [];
  try {
    for (let run = -1; run < runs; run++) {
      const times = await measureCalls(pair.executor, calls);
      if (run < 0) continue;
      remote.push(median(times.remote));
      added.push(median(times.remote) - median(times.own));
    }
  } finally {
    await pair.close();
  }
  const against = `target ${targetMs} ms (paper: 5 ms)`;
  const ratioOf = (value: number): number => targetMs / value;
  return [
    measured({ name: 'remote hop, 200 bytes', metric: 'p50 added to a call to oneself', unit: 'ms', values: added, against, ratioOf }),
    measured({ name: 'remote hop, 200 bytes', metric: 'p50 of a remote call', unit: 'ms', values: remote, against, ratioOf }),
  ];
}

const median = (values: readonly number[]): number => [...values].sort((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0;

const measureCalls = async (executor: RemoteExecutor, calls: number) => {
  const times: { readonly own: number[]; readonly remote: number[] } = { own: [], remote: [] };
  const body = { text: 'x'.repeat(200) };
  const { signal } = new AbortController();
  for (let i = 0; i < calls; i++) {
    for (const [kind, shardId] of [
      ['own', 'a'],
      ['remote', 'b'],
    ] as const) {
      const startedMs = performance.now();
      await executor.call({ shardId: asId<ShardId>(shardId), method: 'echo', body, signal, idempotent: true });
      times[kind].push(performance.now() - startedMs);
    }
  }
  return times;
};
