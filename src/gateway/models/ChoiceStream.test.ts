import { expect, it } from 'vitest';
import { asId, type ShardId } from '../../base/index.js';
import type { ClusterEvent, ClusterModelService, ClusterRequest } from '../../cooperation/index.js';
import { plainSampling, platformError } from '../../platform/index.js';
import { ChoiceStream } from './ChoiceStream.js';
import { choiceRequests } from './choiceRequests.js';

const base: ClusterRequest = {
  requestId: 'r',
  model: 'default',
  messages: [],
  sampling: { ...plainSampling, tokensMax: 4, seed: 5 },
  priority: 'normal',
  timeoutMs: 1000,
};
const routing = { shardId: asId<ShardId>('s'), decision: 'ring' as const, score: 0, tier: undefined };

/** Answers each request with its id; the one that is `broken` fails, those after it hang until they are cancelled. */
const fake = (broken?: string) => {
  const cancelled: string[] = [];
  const generate = async function* ({ requestId }: ClusterRequest, signal: AbortSignal): AsyncGenerator<ClusterEvent> {
    yield { kind: 'routed', routing };
    if (requestId === broken) throw platformError('MODEL_UNKNOWN', 'no');
    if (broken !== undefined)
      await new Promise((_, reject) =>
        signal.addEventListener('abort', () => {
          cancelled.push(requestId);
          reject(signal.reason);
        }),
      );
    yield { kind: 'text', text: requestId, tokens: 1 };
  };
  return { cancelled, models: { generate } as unknown as ClusterModelService };
};
const { signal } = new AbortController();

it('gives each answer an id and a seed of its own, the first the seed that was given', () => {
  expect(choiceRequests(base, 1)).toEqual([base]);
  expect(choiceRequests(base, 3).map(({ requestId, sampling }) => [requestId, sampling.seed])).toEqual([
    ['r-0', 5],
    ['r-1', 6],
    ['r-2', 7],
  ]);
  const { seed: _, ...sampling } = base.sampling;
  expect(choiceRequests({ ...base, sampling }, 2).every((one) => one.sampling.seed === undefined)).toBe(true);
});

it('merges the events of all answers, each with its place', async () => {
  const texts: string[] = [];
  for await (const { index, event } of new ChoiceStream(fake().models, choiceRequests(base, 3)).events(signal))
    if (event.kind === 'text') texts.push(`${index}:${event.text}`);
  expect(texts.sort()).toEqual(['0:r-0', '1:r-1', '2:r-2']);
});

it('fails with the first failure and cancels the others', async () => {
  const { models, cancelled } = fake('r-1');
  const read = async () => {
    for await (const _ of new ChoiceStream(models, choiceRequests(base, 3)).events(signal));
  };
  await expect(read()).rejects.toMatchObject({ code: 'MODEL_UNKNOWN' });
  expect(cancelled.sort()).toEqual(['r-0', 'r-2']);
});
