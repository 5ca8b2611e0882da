import { describe, expect, it } from 'vitest';
import { ManualClock, settle } from '../../../test/support/ManualClock.js';
import { baseError, utf8 } from '../../base/index.js';
import type { ClusterEvent } from '../../cooperation/index.js';
import { platformError } from '../../platform/index.js';
import type { ChoiceEvent } from './ChoiceStream.js';
import { type StreamFormat, streamAnswer } from './streamAnswer.js';

const format: StreamFormat = {
  opening: (index) => ({ open: index }),
  rerouted: (index) => ({ rerouted: index }),
  text: (index, { text }) => ({ index, text }),
  ending: (index, reason) => ({ index, reason }),
  usage: (usages) => ({
    promptTokens: usages.reduce((sum, { promptTokens }) => sum + promptTokens, 0),
    completionTokens: usages.reduce((sum, { completionTokens }) => sum + completionTokens, 0),
  }),
};
const admitted: ClusterEvent = { kind: 'admitted', promptTokens: 3 };
const text = (words: string): ClusterEvent => ({ kind: 'text', text: words, tokens: 1 });
const finished: ClusterEvent = {
  kind: 'finished',
  finishReason: 'stop',
  usage: { promptTokens: 3, completionTokens: 2, cachedTokens: 0 },
  timing: { queueMs: 0, firstTokenMs: 1, totalMs: 2 },
};
const of = (index: number, event: ClusterEvent): ChoiceEvent => ({ index, event });

/** Events that a test releases one by one. */
function script() {
  const steps: (() => ChoiceEvent | undefined)[] = [];
  let wake: () => void = () => undefined;
  const events = (async function* () {
    for (;;) {
      if (steps.length === 0)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      const event = steps.shift()?.();
      if (event === undefined) return;
      yield event;
    }
  })();
  const next = (step: () => ChoiceEvent | undefined): Promise<void> => {
    steps.push(step);
    wake();
    return settle();
  };
  return { events, next };
}

async function readAll(body: AsyncIterable<Uint8Array>, into: string[]): Promise<void> {
  for await (const piece of body) into.push(utf8.decode(piece).trim());
}

describe('streamAnswer', () => {
  const options = (clock: ManualClock) => ({ clock, pingMs: 15_000, includeUsage: true, requestId: 'r' });

  it('writes the chunks of several answers with their index, usage of all together and [DONE]', async () => {
    const { events, next } = script();
    const response = streamAnswer(events, format, options(new ManualClock()));
    for (const [index, event] of [
      [0, admitted],
      [1, admitted],
      [1, text('b')],
      [0, text('a')],
      [0, finished],
      [1, finished],
    ] as const)
      await next(() => of(index, event));
    await next(() => undefined);
    const pieces: string[] = [];
    await readAll((await response).body as AsyncIterable<Uint8Array>, pieces);
    expect(pieces).toEqual([
      'data: {"open":0}',
      'data: {"open":1}',
      'data: {"index":1,"text":"b"}',
      'data: {"index":0,"text":"a"}',
      'data: {"index":0,"reason":"stop"}',
      'data: {"index":1,"reason":"stop"}',
      'data: {"promptTokens":6,"completionTokens":4}',
      'data: [DONE]',
    ]);
  });

  it('is an HTTP error before the head, an error event without [DONE] after it', async () => {
    const early = script();
    const refused = streamAnswer(early.events, format, options(new ManualClock()));
    const rejection = expect(refused).rejects.toMatchObject({ code: 'MODEL_UNKNOWN' });
    await early.next(() => {
      throw platformError('MODEL_UNKNOWN', 'no');
    });
    await rejection;
    const late = script();
    const response = streamAnswer(late.events, format, options(new ManualClock()));
    await late.next(() => of(0, admitted));
    await late.next(() => {
      throw baseError('DEADLINE_EXCEEDED', 'too late');
    });
    const pieces: string[] = [];
    await readAll((await response).body as AsyncIterable<Uint8Array>, pieces);
    expect(pieces[0]).toBe('data: {"open":0}');
    expect(JSON.parse(pieces[1]?.slice(6) ?? '')).toMatchObject({ error: { code: 'stream_interrupted', message: 'too late' } });
    expect(pieces).toHaveLength(2);
  });

  it('sends the head and comments while a request waits in the queue or for its prompt, and leaves no timer', async () => {
    const clock = new ManualClock();
    const { events, next } = script();
    const response = streamAnswer(events, format, options(clock));
    await clock.advance(15_000);
    const pieces: string[] = [];
    const reading = readAll((await response).body as AsyncIterable<Uint8Array>, pieces);
    await settle();
    await clock.advance(30_000);
    expect(pieces).toEqual([': ping', ': ping']);
    await next(() => of(0, admitted));
    await clock.advance(14_000);
    await next(() => of(0, text('a')));
    await clock.advance(15_000);
    await next(() => of(0, finished));
    await next(() => undefined);
    await reading;
    expect(pieces.slice(2)).toEqual([
      'data: {"open":0}',
      'data: {"index":0,"text":"a"}',
      ': ping',
      'data: {"index":0,"reason":"stop"}',
      'data: {"promptTokens":3,"completionTokens":2}',
      'data: [DONE]',
    ]);
    expect(clock.timers).toBe(0);
  });

  it('ends its source when the client leaves, also before the first admission', async () => {
    let ended = false;
    const clock = new ManualClock();
    const events = (async function* () {
      try {
        yield of(0, admitted);
        yield of(0, text('a'));
      } finally {
        ended = true;
      }
    })();
    const response = await streamAnswer(events, format, options(clock));
    const iterator = (response.body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
    await iterator.next();
    await iterator.return?.();
    expect(ended).toBe(true);
    expect(clock.timers).toBe(0);
  });
});
