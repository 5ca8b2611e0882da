import { assert } from '../../../base/index.js';
import type { ChatAnswer } from './ChatAnswer.js';
import type { ChatEvent } from './ChatEvent.js';

/** Reads all answers of a request to their ends; in the order of the answers. */
export async function collectChat(events: AsyncIterable<ChatEvent>): Promise<readonly ChatAnswer[]> {
  const open = new Map<number, OpenAnswer>();
  for await (const event of events) {
    const answer = open.get(event.index) ?? { text: '', calls: [], logprobs: [] };
    open.set(event.index, answer);
    take(answer, event);
  }
  return [...open].sort(([left], [right]) => left - right).map(([, answer]) => whole(answer));
}

interface OpenAnswer {
  text: string;
  readonly calls: { readonly id: string; readonly name: string; arguments: string }[];
  readonly logprobs: ChatAnswer['logprobs'][number][];
  routing?: ChatAnswer['routing'];
  finished?: Extract<ChatEvent, { readonly kind: 'finished' }>;
}

function take(answer: OpenAnswer, event: ChatEvent): void {
  if (event.kind === 'routed') answer.routing = event.routing;
  if (event.kind === 'text') {
    answer.text += event.text;
    answer.logprobs.push(...(event.logprobs ?? []));
  }
  if (event.kind === 'call') answer.calls.push({ id: event.id, name: event.name, arguments: '' });
  if (event.kind === 'arguments') (answer.calls[event.call] as { arguments: string }).arguments += event.text;
  if (event.kind === 'finished') answer.finished = event;
}

function whole({ finished, routing, ...answer }: OpenAnswer): ChatAnswer {
  assert(finished !== undefined && routing !== undefined, 'a generation is routed and ends with a finished event or an error');
  const { finishReason, stopText, usage, timing } = finished;
  return { ...answer, routing, finishReason, usage, timing, ...(stopText !== undefined && { stopText }) };
}
