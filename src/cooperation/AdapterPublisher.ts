import type { AdapterCapabilityAnnouncement, GossipProtocol } from '../membership/index.js';
import { type AdapterFigures, type AdapterIdentity, adapterKey, type Clock, type Logger, type ModelService } from '../platform/index.js';

/** An adapter this shard should serve, with the figures known of it. */
export interface AdapterToPublish {
  readonly domain: string;
  readonly path: string;
  readonly scale: number;
  /** SHA-256 of the content that is meant; a file of another content is refused. */
  readonly digest?: string;
  readonly figures: AdapterFigures;
}

/** Withdrawn announcements that stay in the shard's entry; the entry is replaced as a whole, so that the oldest may go. */
const tombstonesMax = 32;

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

  /** What this shard announces and has not withdrawn. */
  announced(): readonly AdapterCapabilityAnnouncement[] {
    return this.#gossip.ownAnnouncements().filter(({ withdrawn }) => !withdrawn);
  }

  /** Errors: ADAPTER_INVALID, ADAPTER_IN_USE (it is being unloaded), ENGINE_LOADING; nothing is announced then. */
  async publish(adapter: AdapterToPublish, signal: AbortSignal): Promise<AdapterCapabilityAnnouncement> {
    const { path, domain } = adapter;
    const asked = { path, scale: adapter.scale, ...(adapter.digest !== undefined && { digest: adapter.digest }) };
    const { digest, modelDigest, scale } = await this.#modelService.loadAdapter(asked, signal);
    const announcement: AdapterCapabilityAnnouncement = {
      shardId: this.#gossip.view().selfShardId,
      domain,
      adapterDigest: digest,
      modelDigest,
      scale,
      ...adapter.figures,
      announcedAt: this.#clock.nowMs(),
      withdrawn: false,
    };
    const others = this.#gossip.ownAnnouncements().filter((one) => one.adapterDigest !== digest || one.domain !== domain);
    this.#announce([...others, announcement]);
    this.#logger.info('adapter.announced', { domain, adapter: digest, accuracyDelta: adapter.figures.accuracyDelta });
    return announcement;
  }

  /** Says that the domain is served no more, so that no request is sent to what is going away. Returns the adapters nothing else names. */
  withdraw(domain: string): readonly AdapterIdentity[] {
    const going = this.announced().filter((one) => one.domain === domain);
    this.#withdraw((one) => one.domain === domain);
    const named = new Set(this.announced().map(keyOf));
    const unnamed = going.filter((one) => !named.has(keyOf(one)));
    return [...new Map(unnamed.map((one) => [keyOf(one), identityOf(one)])).values()];
  }

  /** Frees what was withdrawn, once its last request has ended. Errors: ADAPTER_UNKNOWN, those of the signal. */
  free(adapter: AdapterIdentity, signal: AbortSignal): Promise<void> {
    return this.#modelService.unloadAdapter(adapter, signal);
  }

  /** Waits until every shard that answers in time knows what was announced and withdrawn before. */
  async spread(): Promise<void> {
    const missed = await this.#gossip.spread();
    if (missed.length > 0) this.#logger.warn('adapter.not_everywhere', { shards: missed.length });
  }

  /** An adapter that the engine could not load again after a crash is not announced any longer. */
  withdrawLost(): void {
    const loaded = new Set(this.#modelService.adapters().map(adapterKey));
    const isLost = (one: AdapterCapabilityAnnouncement): boolean => !loaded.has(keyOf(one));
    if (this.announced().some(isLost)) this.#withdraw(isLost);
  }

  #withdraw(isGoing: (one: AdapterCapabilityAnnouncement) => boolean): void {
    this.#announce(this.#gossip.ownAnnouncements().map((one) => (isGoing(one) ? { ...one, withdrawn: true } : one)));
  }

  #announce(all: readonly AdapterCapabilityAnnouncement[]): void {
    const tombstones = all.filter(({ withdrawn }) => withdrawn).slice(-tombstonesMax);
    this.#gossip.announce({ announcements: [...tombstones, ...all.filter(({ withdrawn }) => !withdrawn)] });
  }
}

const identityOf = ({ adapterDigest: digest, scale }: AdapterCapabilityAnnouncement): AdapterIdentity => ({ digest, scale });
const keyOf = (one: AdapterCapabilityAnnouncement): string => adapterKey(identityOf(one));
