import type { EngineLauncher, OrderedStore, Transport } from '../../src/platform/index.js';
import type { SimRandom } from '../world/SimRandom.js';

/** What a wrapper knows of where it stands. */
export interface BugSite {
  readonly shardId: string;
  readonly random: SimRandom;
}

/** A fault of the product itself, made by wrapping one of its ports: the checkers must find it. */
export interface PlantedBug {
  readonly wrapStore?: (store: OrderedStore, site: BugSite) => OrderedStore;
  readonly wrapTransport?: (transport: Transport, site: BugSite) => Transport;
  readonly wrapLauncher?: (launcher: EngineLauncher, site: BugSite) => EngineLauncher;
}
