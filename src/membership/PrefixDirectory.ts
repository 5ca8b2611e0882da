import type { ShardId } from '../base/index.js';
import { type LoadReport, prefixUnitTokens } from '../platform/index.js';
import { prefixMarks } from '../protocol/index.js';
import type { TopologyView } from './TopologyView.js';

/** A shard that says it holds the beginning of a prompt. */
export interface PrefixHolder {
  readonly shardId: ShardId;
  /** Tokens of the prompt, from its beginning. */
  readonly tokens: number;
  /** By which it may be asked for them. */
  readonly digest: string;
}

/**
 * Who holds which prefixes (R27, paper §IV-D), as load reports tell: bounded by what a report may carry, and as old as the newest fresh
 * report. Four bytes of each digest: a shard may be named that holds nothing of the kind, which shows when it is asked.
 */
export class PrefixDirectory {
  readonly #known = new WeakMap<LoadReport, ReadonlySet<number>>();

  /** Living shards but `self` that hold some of a prompt with these digests, most tokens first. */
  holders(digests: readonly string[], view: TopologyView, self: ShardId): readonly PrefixHolder[] {
    const marks = digests.map(prefixMarks.of);
    const others = view.members.filter(({ shardId, health, ready }) => shardId !== self && health === 'alive' && ready);
    return others
      .flatMap(({ shardId, load }): PrefixHolder[] => {
        const held = load === undefined ? -1 : marks.findLastIndex((mark) => this.#prefixesOf(load).has(mark));
        return held < 0 ? [] : [{ shardId, tokens: (held + 1) * prefixUnitTokens, digest: digests[held] as string }];
      })
      .sort((left, right) => right.tokens - left.tokens || (left.shardId < right.shardId ? -1 : 1));
  }

  /** Whether anybody else could hold anything: who asks nobody needs no digests. */
  isEmpty(view: TopologyView, self: ShardId): boolean {
    return view.members.every(({ shardId, load }) => shardId === self || (load?.prefixes ?? '') === '');
  }

  #prefixesOf(load: LoadReport): ReadonlySet<number> {
    const known = this.#known.get(load);
    if (known !== undefined) return known;
    const marks = prefixMarks.decode(load.prefixes);
    this.#known.set(load, marks);
    return marks;
  }
}
