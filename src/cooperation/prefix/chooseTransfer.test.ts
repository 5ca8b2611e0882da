import { expect, it } from 'vitest';
import { asId, type ShardId } from '../../base/index.js';
import { chooseTransfer } from './chooseTransfer.js';

const options = { prefixGainMin: 1.5, prefixTokensGainMin: 64 };
const lookup = { promptTokens: 600, heldTokens: 64, digests: [], bytesPerToken: 1000, prefillTokenMs: 2, importTokenMs: 0.1 };
const holder = (shard: string, tokens: number) => ({ shardId: asId<ShardId>(shard), tokens, digest: '0' });
const cheap = () => ({ callMs: 1, byteMs: 0.0001 });

it('moves what takes longer to compute than to move, within the time that it saves', () => {
  const choice = chooseTransfer(lookup, [holder('b', 512)], cheap, options);
  expect(choice).toMatchObject({ kind: 'move', holder: { shardId: 'b' } });
  expect(choice.kind === 'move' && choice.budgetMs).toBeCloseTo(((512 - 64) * 2) / 1.5);
});

it('computes what nobody has more of, what was never measured, and what a slow link would bring later', () => {
  expect(chooseTransfer(lookup, [holder('b', 64)], cheap, options)).toEqual({ kind: 'compute', reason: 'unknown' });
  const { prefillTokenMs: _, ...unmeasured } = lookup;
  expect(chooseTransfer(unmeasured, [holder('b', 512)], cheap, options)).toEqual({ kind: 'compute', reason: 'unmeasured' });
  const slow = () => ({ callMs: 5, byteMs: 0.002 });
  expect(chooseTransfer(lookup, [holder('b', 512)], slow, options)).toEqual({ kind: 'compute', reason: 'slower' });
});

it('takes the holder that saves most in the end, not the one that has most', () => {
  const costOf = (shard: string) => (shard === 'far' ? { callMs: 500, byteMs: 0.0005 } : cheap());
  expect(chooseTransfer(lookup, [holder('far', 512), holder('near', 448)], costOf, options)).toMatchObject({ holder: { shardId: 'near' } });
});
