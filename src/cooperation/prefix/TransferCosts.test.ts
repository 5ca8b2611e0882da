import { expect, it } from 'vitest';
import { ManualClock } from '../../../test/support/ManualClock.js';
import { asId, type ShardId } from '../../base/index.js';
import { TransferCosts } from './TransferCosts.js';

const shard = asId<ShardId>('b');
const open = () => {
  const clock = new ManualClock();
  return { clock, costs: new TransferCosts({ clock, options: { prefixCostWeight: 0.5, prefixCostFreshMs: 60_000 } }) };
};

it('learns what a call and a byte cost, and of an answer without bytes only the call', () => {
  const { costs } = open();
  expect(costs.of(shard)).toEqual({ callMs: 0, byteMs: 0 });
  costs.measured(shard, { callMs: 4, bytes: 1000, bytesMs: 10 });
  for (let refused = 0; refused < 10; refused++) costs.measured(shard, { callMs: 4, bytes: 0, bytesMs: 90 });
  expect(costs.of(shard)).toMatchObject({ callMs: 4, byteMs: 0.01 });
});

it('forgets what was measured long ago, and shards that have gone', async () => {
  const { costs, clock } = open();
  costs.measured(shard, { callMs: 5000, bytes: 10, bytesMs: 5000 });
  await clock.advance(60_001);
  expect(costs.of(shard)).toEqual({ callMs: 0, byteMs: 0 });
  costs.measured(shard, { callMs: 1, bytes: 10, bytesMs: 1 });
  costs.keepOnly(new Set());
  expect(costs.of(shard)).toEqual({ callMs: 0, byteMs: 0 });
});
