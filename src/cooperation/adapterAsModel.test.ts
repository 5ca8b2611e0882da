import { expect, it } from 'vitest';
import { asId, type ShardId } from '../base/index.js';
import type { TopologyView } from '../membership/index.js';
import { adapterAsModel } from './adapterAsModel.js';

const digest = 'a'.repeat(64);
const view = {
  epoch: 1,
  selfShardId: asId<ShardId>('s1'),
  members: [{ models: [{ name: 'small', digest, kind: 'chat' }], announcements: [{ domain: 'law', modelDigest: digest }] }],
} as unknown as TopologyView;

it('takes the name of an adapter as its domain and base model, answered by no other', () => {
  const asked = { model: 'law', priority: 'low' };
  expect(adapterAsModel(asked, view)).toEqual({
    model: 'small',
    domain: 'law',
    priority: 'low',
    route: { fallback: 'fail', isNamed: true },
  });
  expect(adapterAsModel({ model: 'law', domain: 'law' }, view)).toMatchObject({ model: 'small', domain: 'law' });
});

it.each([[{ model: 'default' }], [{ model: 'small' }], [{ model: 'nobody' }], [{ model: 'law', domain: 'medicine' }]])(
  'leaves %j as it is',
  (asked) => {
    expect(adapterAsModel(asked, view)).toBe(asked);
  },
);

it('prefers a model to an adapter of the same name', () => {
  const [member] = view.members;
  const both = { ...view, members: [{ ...member, announcements: [{ domain: 'small', modelDigest: digest }] }] } as unknown as TopologyView;
  expect(adapterAsModel({ model: 'small' }, both)).toEqual({ model: 'small' });
});
