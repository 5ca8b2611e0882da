import { type ShardConfig, shardConfig } from '../../src/shard/index.js';
import type { SimAdapter } from './SimScript.js';

const httpPortOf = (index: number): number => 8529 + index;
const model = (name: string) => ({ name, path: name, digest: '0'.repeat(64) });

/**
 * The configuration of a simulated shard: defaults, but a minute must show what takes longer in life: breakers that close again, versions
 * that become garbage.
 */
export function simShardConfig(request: {
  readonly index: number;
  readonly shardIds: readonly string[];
  readonly adapters: readonly SimAdapter[];
}): ShardConfig {
  const { index, shardIds, adapters } = request;
  return shardConfig.parse({
    cluster: {
      name: 'simulated',
      initialShards: [...shardIds],
      sequences: 4,
      contextTokens: 512,
      chatModel: model('sim-chat'),
      embeddingModel: model('sim-embedding'),
    },
    process: {
      shardId: shardIds[index],
      httpPort: httpPortOf(index),
      rpcPort: 9000 + index,
      garbageIntervalMs: 700,
      adapters: adapters.map(({ domain, path, accuracyDelta }) => ({
        domain,
        path,
        scale: 1,
        figures: {
          accuracyDelta,
          baseAccuracy: 0.2,
          adapterAccuracy: 0.9,
          performanceDeltaP99Ms: 10,
          trainingSamples: 100,
          federationRound: 0,
          source: 'measured' as const,
        },
      })),
    },
    storage: { snapshotAgeMsMax: 18_000 },
    // A hung engine is found within the run.
    engine: { heartbeatIntervalMs: 500, heartbeatsMissedMax: 6 },
    // Among five, news needs a second hop; and a run is not three quarters load reports.
    membership: { gossipFanout: 2, loadReportIntervalMs: 400 },
    // A token of the toy is a letter: prompts that are worth moving are short.
    cooperation: { prefixCharactersMin: 128 },
    rpc: { breakerRecoveryMs: 4_000 },
  });
}
