import type { PrefixHolder } from '../../membership/index.js';
import type { PrefixLookup } from '../../platform/index.js';
import type { CooperationOptions } from '../options.js';

/** What moving rows from a shard costs; a shard that was never asked counts as free, so that it is asked once. */
export type TransferCostOf = (shardId: PrefixHolder['shardId']) => { readonly callMs: number; readonly byteMs: number };

export type TransferChoice =
  /** Worth it while it takes no longer than `budgetMs`. */
  | { readonly kind: 'move'; readonly holder: PrefixHolder; readonly budgetMs: number }
  /** `unknown`: nobody holds more than is here; `unmeasured`: this engine has computed no prompt yet; `slower`: computing takes less. */
  | { readonly kind: 'compute'; readonly reason: 'unknown' | 'unmeasured' | 'slower' };

/**
 * Whether rows of a prompt are moved here from another shard or computed (R27, paper §IV-D), a pure function: moved where what the
 * holder has beyond what is here takes longer to compute than to move, by measured costs and with a margin. Never slower by much: the
 * budget ends a move that takes longer than was thought.
 */
export function chooseTransfer(
  lookup: PrefixLookup,
  holders: readonly PrefixHolder[],
  costOf: TransferCostOf,
  options: Pick<CooperationOptions, 'prefixGainMin' | 'prefixTokensGainMin'>,
): TransferChoice {
  const useful = holders.filter(({ tokens }) => tokens - lookup.heldTokens >= options.prefixTokensGainMin);
  if (useful.length === 0) return { kind: 'compute', reason: 'unknown' };
  const { prefillTokenMs, importTokenMs = 0, bytesPerToken } = lookup;
  if (prefillTokenMs === undefined) return { kind: 'compute', reason: 'unmeasured' };
  const rated = useful.map((holder) => {
    const { callMs, byteMs } = costOf(holder.shardId);
    const savedMs = (holder.tokens - lookup.heldTokens) * prefillTokenMs;
    return { holder, savedMs, moveMs: callMs + holder.tokens * (bytesPerToken * byteMs + importTokenMs) };
  });
  const best = rated.reduce((first, other) => (other.savedMs - other.moveMs > first.savedMs - first.moveMs ? other : first));
  if (best.moveMs * options.prefixGainMin >= best.savedMs) return { kind: 'compute', reason: 'slower' };
  return { kind: 'move', holder: best.holder, budgetMs: best.savedMs / options.prefixGainMin };
}
