import { writeFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { type AnswerPiece, type ChatQuestion, ChatSession } from '../chat/ChatSession.js';
import { chatPieces } from '../chat/chatPieces.js';
import { eventData } from '../chat/eventData.js';
import { HttpClient } from '../HttpClient.js';

interface Options {
  readonly model: string;
  readonly domain?: string;
  readonly system?: string;
  readonly maxTokens: number;
  readonly url: string;
}

const prompt = '> ';

/** `ostraka chat`: a conversation at the terminal, or one line a question from a pipe; answers to standard output, all else to the other. */
export async function chatCommand(options: Options): Promise<void> {
  const client = new HttpClient({ url: options.url });
  const session = new ChatSession(
    { model: options.model, domain: options.domain, system: options.system },
    {
      ask: (question, signal) => ask(client, question, { signal, maxTokens: options.maxTokens }),
      write: (text) => void process.stdout.write(text),
      note: (text) => void process.stderr.write(text),
      save: (file, text) => writeFile(file, text, { flag: 'wx' }),
    },
  );
  const isTerminal = process.stdin.isTTY === true;
  if (isTerminal) process.stderr.write('/help lists the commands, Ctrl-D leaves\n');
  await converse(session, isTerminal);
  // In a script, a question without an answer is a failure.
  if (!isTerminal && session.failures > 0) process.exitCode = 1;
}

async function converse(session: ChatSession, isTerminal: boolean): Promise<void> {
  const lines = createInterface({ input: process.stdin, output: isTerminal ? process.stderr : undefined, terminal: isTerminal, prompt });
  const onInterrupt = (): void => {
    if (!session.stop()) lines.close();
  };
  lines.on('SIGINT', onInterrupt);
  process.on('SIGINT', onInterrupt);
  try {
    if (isTerminal) lines.prompt();
    for await (const line of lines) {
      if (!(await session.take(line))) break;
      if (isTerminal) lines.prompt();
    }
  } finally {
    process.off('SIGINT', onInterrupt);
    lines.close();
  }
}

async function* ask(
  client: HttpClient,
  { model, domain, messages }: ChatQuestion,
  { signal, maxTokens }: { readonly signal: AbortSignal; readonly maxTokens: number },
): AsyncGenerator<AnswerPiece, void, void> {
  const body = { model, messages, stream: true, max_tokens: maxTokens, ...(domain !== undefined && { domain }) };
  yield* chatPieces(eventData(await client.stream('POST', '/v1/chat/completions', { body, signal })));
}
