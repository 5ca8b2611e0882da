import { describe, expect, it } from 'vitest';
import { measuredAdapter, topologyMember } from '../../../test/support/topologyMember.js';
import { asId, type ShardId } from '../../base/index.js';
import type { TopologyMember } from '../../membership/index.js';
import type { HttpResponse } from '../../platform/index.js';
import { modelListRoutes } from './modelListRoutes.js';

const digest = 'a'.repeat(64);
const own = { name: 'm', digest, kind: 'chat' as const };
const other = { name: 'other', digest, kind: 'chat' as const };
const member = (number: number, changes: Partial<TopologyMember>): TopologyMember =>
  topologyMember(asId<ShardId>(`shard-${number}`), changes);

const listOf = async (members: readonly TopologyMember[]): Promise<readonly { readonly id: string; readonly loaded?: boolean }[]> => {
  const [all] = modelListRoutes({ topology: () => ({ epoch: 1, selfShardId: asId<ShardId>('shard-0'), members }) });
  const answer = (await all?.handle({} as never)) as HttpResponse;
  return (JSON.parse(answer.body as string) as { readonly data: readonly { readonly id: string; readonly loaded?: boolean }[] }).data;
};

describe('GET /v1/models', () => {
  it('lists each model once, with whether one of the shards has it loaded, and adapters with their parent', async () => {
    const members = [
      member(0, {
        models: [own, { ...other, loaded: false }, { ...other, name: 'third', loaded: false }],
        announcements: [measuredAdapter(0.9)],
      }),
      member(1, { models: [own, other] }),
    ];
    expect((await listOf(members)).map(({ id, loaded }) => [id, loaded])).toEqual([
      ['default', true],
      ['m', true],
      ['other', true],
      ['third', false],
      ['law', undefined],
    ]);
  });

  it('says of no model that it is loaded where no shard is ready', async () => {
    expect((await listOf([member(0, { ready: false })])).map(({ loaded }) => loaded)).toEqual([false, false]);
  });
});
