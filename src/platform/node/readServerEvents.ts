import { platformError } from '../index.js';

const lineCharactersMax = 1 << 20;

/** One event of a stream: its data, or a comment that says the server lives. */
export type ServerEvent = { readonly kind: 'data'; readonly data: string } | { readonly kind: 'comment' };

/** The events of a text/event-stream, whatever pieces it comes in. Errors: ENGINE_STEP_FAILED (a line beyond 1 MiB). */
export async function* readServerEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<ServerEvent, void, void> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const piece of body) {
    const lines = (rest + decoder.decode(piece, { stream: true })).split(/\r?\n/);
    rest = lines.pop() ?? '';
    if (rest.length > lineCharactersMax)
      throw platformError('ENGINE_STEP_FAILED', 'a line of the model server’s stream is longer than 1 MiB');
    for (const line of lines) yield* eventOf(line);
  }
  yield* eventOf(rest);
}

function* eventOf(line: string): Generator<ServerEvent, void, void> {
  if (line.startsWith('data:')) yield { kind: 'data', data: line.slice('data:'.length).trim() };
  else if (line.startsWith(':')) yield { kind: 'comment' };
}
