import { asId, type JsonValue, type ShardId } from '../base/index.js';
import type { AdapterCapabilityAnnouncement, GossipProtocol } from '../membership/index.js';
import type { RemoteExecutor } from '../rpc/index.js';
import type { AdapterLoad, UnloadedAdapter } from './AdapterService.js';
import { cooperationError } from './errors.js';
import type { CooperationOptions } from './options.js';

/** An adapter as the cluster knows it. */
export interface KnownAdapter {
  readonly adapter: string;
  readonly model: string;
  readonly domain: string;
  readonly shard: string;
  readonly scale: number;
  readonly accuracy_delta: number;
  readonly p99_delta_ms: number;
  readonly announced_at: number;
  readonly stale: boolean;
}

/** A call waits for the turn and the work of others before its own. */
const patienceFactor = 2;

/** Adapters of any shard, as statements name them: the AdapterService of the shard that is meant does the work (R21). */
export class ClusterAdapters {
  readonly #gossip: GossipProtocol;
  readonly #executor: RemoteExecutor;
  readonly #options: CooperationOptions;

  constructor(parts: { readonly gossip: GossipProtocol; readonly executor: RemoteExecutor; readonly options: CooperationOptions }) {
    this.#gossip = parts.gossip;
    this.#executor = parts.executor;
    this.#options = parts.options;
  }

  /** What is announced, as far as it is known here; also what its shard was not heard of for too long to be sent anything. */
  list(): readonly KnownAdapter[] {
    return this.#gossip.knownAnnouncements().map(({ announcement, isStale }) => this.#known(announcement, isStale));
  }

  /** Errors: those of `AdapterService.load`, SHARD_UNKNOWN, those of a call to a shard. */
  async load(adapter: AdapterLoad, shard: string | undefined, signal: AbortSignal): Promise<KnownAdapter> {
    const deadlineMs = patienceFactor * this.#options.adapterLoadMsMax;
    const call = { method: 'adapters.load', body: { ...adapter }, deadlineMs };
    const announcement = await this.#call(shard, call, signal);
    return this.#known(announcement as unknown as AdapterCapabilityAnnouncement, false);
  }

  /** Errors: those of `AdapterService.unload`, SHARD_UNKNOWN, those of a call to a shard. */
  async unload(name: string, shard: string | undefined, signal: AbortSignal) {
    const deadlineMs = patienceFactor * this.#options.adapterUnloadMsMax;
    const answer = await this.#call(shard, { method: 'adapters.unload', body: { name }, deadlineMs }, signal);
    const { domain, digest, scale } = answer as unknown as UnloadedAdapter;
    return { adapter: digest, domain, shard: shard ?? this.#executor.selfShardId, scale };
  }

  #call(
    shard: string | undefined,
    call: { readonly method: string; readonly body: JsonValue; readonly deadlineMs: number },
    signal: AbortSignal,
  ): Promise<JsonValue> {
    const shardId = shard === undefined ? this.#executor.selfShardId : asId<ShardId>(shard);
    if (this.#gossip.find(shardId) === undefined) throw cooperationError('SHARD_UNKNOWN', `no shard ${shardId} is a member of the cluster`);
    return this.#executor.call({ ...call, shardId, signal, idempotent: false });
  }

  #known(one: AdapterCapabilityAnnouncement, isStale: boolean): KnownAdapter {
    const models = this.#gossip.view().members.flatMap((member) => member.models);
    return {
      adapter: one.adapterDigest,
      model: models.find(({ kind, digest }) => kind === 'chat' && digest === one.modelDigest)?.name ?? one.modelDigest,
      domain: one.domain,
      shard: one.shardId,
      scale: one.scale,
      accuracy_delta: one.accuracyDelta,
      p99_delta_ms: one.performanceDeltaP99Ms,
      announced_at: one.announcedAt,
      stale: isStale,
    };
  }
}
