import type { GossipDigest, GossipEntry } from './GossipEntry.js';

const isNewer = (entry: { readonly incarnation: number; readonly version: number }, than: readonly [number, number] | undefined): boolean =>
  than === undefined || entry.incarnation > than[0] || (entry.incarnation === than[0] && entry.version > than[1]);

/** The versioned map of gossip: pure data, merged by (incarnation, version). */
export class GossipState {
  readonly #entries = new Map<string, { readonly entry: GossipEntry; readonly seenAtMs: number }>();

  get(shardId: string): { readonly entry: GossipEntry; readonly seenAtMs: number } | undefined {
    return this.#entries.get(shardId);
  }

  entries(): readonly { readonly entry: GossipEntry; readonly seenAtMs: number }[] {
    return [...this.#entries.values()];
  }

  /** Takes what is newer; returns it. */
  merge(entries: readonly GossipEntry[], nowMs: number): GossipEntry[] {
    const fresh = entries.filter((entry) => isNewer(entry, this.#versionOf(entry.shardId)));
    for (const entry of fresh) this.#entries.set(entry.shardId, { entry, seenAtMs: nowMs });
    return fresh;
  }

  digest(): GossipDigest {
    return Object.fromEntries([...this.#entries].map(([id, { entry }]) => [id, [entry.incarnation, entry.version]]));
  }

  /** What the sender of `digest` does not have yet. */
  newerThan(digest: GossipDigest): GossipEntry[] {
    return [...this.#entries.values()].map(({ entry }) => entry).filter((entry) => isNewer(entry, digest[entry.shardId]));
  }

  #versionOf(shardId: string): [number, number] | undefined {
    const known = this.#entries.get(shardId)?.entry;
    return known && [known.incarnation, known.version];
  }
}
