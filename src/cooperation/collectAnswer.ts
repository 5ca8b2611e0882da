import { assert } from '../base/index.js';
import type { AnswerLogprob, GenerateEvent } from '../platform/index.js';
import type { ClusterAnswer } from './ClusterRequest.js';

/** Reads a request to its end. */
export async function collectAnswer(events: AsyncIterable<GenerateEvent>): Promise<Omit<ClusterAnswer, 'routing'>> {
  let text = '';
  const logprobs: AnswerLogprob[] = [];
  for await (const event of events) {
    if (event.kind === 'text') {
      text += event.text;
      logprobs.push(...(event.logprobs ?? []));
    }
    if (event.kind !== 'finished') continue;
    const { finishReason, usage, timing } = event;
    return { text, logprobs, finishReason, usage, timing };
  }
  assert(false, 'a generation ends with a finished event or an error');
}
