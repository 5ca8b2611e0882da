import { assert } from '../base/index.js';
import type { GenerateEvent } from '../platform/index.js';
import type { ClusterAnswer } from './ClusterRequest.js';

/** Reads a request to its end. */
export async function collectAnswer(events: AsyncIterable<GenerateEvent>): Promise<Omit<ClusterAnswer, 'routing'>> {
  let text = '';
  for await (const event of events) {
    if (event.kind === 'text') text += event.text;
    if (event.kind !== 'finished') continue;
    const { finishReason, usage, timing } = event;
    return { text, finishReason, usage, timing };
  }
  assert(false, 'a generation ends with a finished event or an error');
}
