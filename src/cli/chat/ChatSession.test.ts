import { describe, expect, it } from 'vitest';
import { cliError } from '../errors.js';
import { type AnswerPiece, type ChatQuestion, ChatSession } from './ChatSession.js';
import { chatPieces } from './chatPieces.js';
import { eventData } from './eventData.js';
import { parseChatLine } from './parseChatLine.js';

const start = { model: 'default', domain: undefined, system: undefined };

/** A session whose model answers with what `answer` yields. */
function open(answer: (question: ChatQuestion, signal: AbortSignal) => AsyncIterable<AnswerPiece>) {
  const asked: ChatQuestion[] = [];
  const saved = new Map<string, string>();
  let [shown, noted] = ['', ''];
  const session = new ChatSession(start, {
    ask: (question, signal) => {
      asked.push(question);
      return answer(question, signal);
    },
    write: (text) => {
      shown += text;
    },
    note: (text) => {
      noted += text;
    },
    save: async (file, text) => void saved.set(file, text),
  });
  return { session, asked, saved, shown: () => shown, noted: () => noted };
}

async function* says(...texts: readonly string[]): AsyncGenerator<AnswerPiece> {
  for (const text of texts) yield { kind: 'text', text };
}

describe('a conversation at the terminal', () => {
  it('tells the model all that was said, with system prompt and domain, until it is reset', async () => {
    const { session, asked, shown } = open(() => says('Hel', 'lo'));
    for (const line of ['one', '/system Be brief.', '/domain legal', 'two', '/reset', '/system -', '/domain -', 'three'])
      await session.take(line);
    const [one, answer, two] = [
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'Hello' },
      { role: 'user', content: 'two' },
    ];
    expect(asked).toEqual([
      { model: 'default', domain: undefined, messages: [one] },
      { model: 'default', domain: 'legal', messages: [{ role: 'system', content: 'Be brief.' }, one, answer, two] },
      { model: 'default', domain: undefined, messages: [{ role: 'user', content: 'three' }] },
    ]);
    expect(shown()).toBe('Hello\nHello\nHello\n');
  });

  it('stops an answer, keeps what was shown of it, and stops nothing when none runs', async () => {
    const { session, asked, noted } = open(async function* (question, signal) {
      yield { kind: 'text', text: 'Once' };
      if (question.messages.length > 1) return;
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    });
    expect(session.stop()).toBe(false);
    const taken = session.take('a story');
    await new Promise((resolve) => setImmediate(resolve));
    expect([session.stop(), session.stop()]).toEqual([true, false]);
    expect(await taken).toBe(true);
    await session.take('go on');
    expect(asked[1]?.messages.map(({ content }) => content)).toEqual(['a story', 'Once', 'go on']);
    expect([noted(), session.failures]).toEqual(['(stopped)\n', 0]);
  });

  it('takes a question that failed as not asked, says why, and goes on', async () => {
    let isDown = true;
    const { session, asked, noted } = open(() => {
      if (!isDown) return says('yes');
      throw cliError('SERVER_UNREACHABLE', 'no shard answers');
    });
    expect(await session.take('a')).toBe(true);
    isDown = false;
    await session.take('b');
    expect(asked[1]?.messages).toEqual([{ role: 'user', content: 'b' }]);
    expect([noted(), session.failures]).toEqual(['ostraka: no shard answers [SERVER_UNREACHABLE]\n', 1]);
  });

  it('saves the conversation, helps, and ends', async () => {
    const { session, saved, noted } = open(() => says('yes'));
    await session.take('a');
    await session.take('/save talk.json');
    expect(JSON.parse(saved.get('talk.json') ?? '')).toEqual({
      model: 'default',
      domain: null,
      messages: [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: 'yes' },
      ],
    });
    await session.take('/help');
    for (const name of ['/system', '/domain', '/reset', '/save', '/exit']) expect(noted()).toContain(name);
    await session.take('/save');
    await session.take('/nonsense');
    expect(noted()).toContain('there is no command /nonsense');
    expect([await session.take(''), await session.take('/exit')]).toEqual([true, false]);
  });
});

it('a line with one slash is a command, with two a text', () => {
  expect(parseChatLine(' //help ')).toEqual({ kind: 'say', text: '/help' });
  expect(parseChatLine('/system')).toEqual({ kind: 'system', value: undefined });
  expect(parseChatLine('/save a file.json')).toEqual({ kind: 'save', file: 'a file.json' });
});

describe('a streamed answer', () => {
  const pieces = async (text: string, size: number): Promise<readonly AnswerPiece[]> => {
    const bytes = new TextEncoder().encode(text);
    const cut = async function* () {
      for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
    };
    const read: AnswerPiece[] = [];
    for await (const piece of chatPieces(eventData(cut()))) read.push(piece);
    return read;
  };
  const chunk = (content: string) => `data: ${JSON.stringify({ choices: [{ delta: { content }, finish_reason: null }] })}\n\n`;

  it('is read however its bytes are cut, with pings between', async () => {
    for (const size of [1, 2, 3, 7, 1000])
      expect(await pieces(`: ping\n\n${chunk('é')}: ping\n\n${chunk('日本')}data: [DONE]\n\n`, size)).toEqual([
        { kind: 'text', text: 'é' },
        { kind: 'text', text: '日本' },
      ]);
  });

  it('fails where it ends with an error, or without an end', async () => {
    const error = `data: ${JSON.stringify({ error: { message: 'lost', code: 'stream_interrupted' } })}\n\n`;
    await expect(pieces(chunk('a') + error, 9)).rejects.toMatchObject({ code: 'ANSWER_BROKEN', message: 'lost' });
    await expect(pieces(chunk('a'), 9)).rejects.toMatchObject({ code: 'ANSWER_BROKEN' });
  });
});
