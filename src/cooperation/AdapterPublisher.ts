import type { AdapterCapabilityAnnouncement, GossipProtocol } from '../membership/index.js';
import type { Clock, Logger, ModelService } from '../platform/index.js';

/** An adapter this shard should serve, with the figures known of it. */
export interface AdapterToPublish {
  readonly domain: string;
  readonly path: string;
  readonly scale: number;
  readonly figures: Pick<
    AdapterCapabilityAnnouncement,
    'accuracyDelta' | 'baseAccuracy' | 'adapterAccuracy' | 'performanceDeltaP99Ms' | 'trainingSamples' | 'federationRound' | 'source'
  >;
}

/** Loads, then announces (R21): the cluster hears of an adapter only once it can be used, and success is reported after both. */
export class AdapterPublisher {
  readonly #modelService: ModelService;
  readonly #gossip: GossipProtocol;
  readonly #clock: Clock;
  readonly #logger: Logger;

  constructor(parts: {
    readonly modelService: ModelService;
    readonly gossip: GossipProtocol;
    readonly clock: Clock;
    readonly logger: Logger;
  }) {
    this.#modelService = parts.modelService;
    this.#gossip = parts.gossip;
    this.#clock = parts.clock;
    this.#logger = parts.logger;
  }

  /** Errors: ADAPTER_INVALID, ENGINE_LOADING; nothing is announced then. */
  async publish(adapter: AdapterToPublish, signal: AbortSignal): Promise<AdapterCapabilityAnnouncement> {
    const { digest, modelDigest, scale } = await this.#modelService.loadAdapter({ path: adapter.path, scale: adapter.scale }, signal);
    const announcement: AdapterCapabilityAnnouncement = {
      shardId: this.#gossip.view().selfShardId,
      domain: adapter.domain,
      adapterDigest: digest,
      modelDigest,
      scale,
      ...adapter.figures,
      announcedAt: this.#clock.nowMs(),
      withdrawn: false,
    };
    const others = this.#gossip.ownAnnouncements().filter((one) => one.adapterDigest !== digest || one.domain !== adapter.domain);
    this.#gossip.announce({ announcements: [...others, announcement] });
    this.#logger.info('adapter.announced', { domain: adapter.domain, adapter: digest, accuracyDelta: adapter.figures.accuracyDelta });
    return announcement;
  }

  /** Withdraws before it unloads, so that no request is sent to what is going away. */
  async withdraw(digest: string, signal: AbortSignal): Promise<void> {
    const announcements = this.#gossip.ownAnnouncements().map((one) => (one.adapterDigest === digest ? { ...one, withdrawn: true } : one));
    this.#gossip.announce({ announcements });
    await this.#modelService.unloadAdapter(digest, signal);
  }
}
