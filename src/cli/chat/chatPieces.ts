import { cliError } from '../errors.js';
import type { AnswerPiece } from './ChatSession.js';

interface Chunk {
  readonly choices?: readonly { readonly delta?: { readonly content?: string | null }; readonly finish_reason?: string | null }[];
  readonly ostraka?: { readonly routing?: { readonly fallback?: string | null } };
  readonly error?: { readonly message: string; readonly code?: string };
}

/**
 * The pieces of a streamed chat completion. Says when no shard of the domain answers, and when the answer was cut. Error ANSWER_BROKEN: the
 * stream ended with an error, or without an end.
 */
export async function* chatPieces(data: AsyncIterable<string>): AsyncGenerator<AnswerPiece, void, void> {
  let isWhole = false;
  for await (const each of data) {
    isWhole = each === '[DONE]';
    if (isWhole) continue;
    const { choices, ostraka, error } = JSON.parse(each) as Chunk;
    if (error) throw cliError('ANSWER_BROKEN', error.message);
    const fallback = ostraka?.routing?.fallback;
    if (fallback) yield { kind: 'note', text: `(no shard of this domain answers: ${fallback})\n` };
    const [choice] = choices ?? [];
    if (choice?.delta?.content) yield { kind: 'text', text: choice.delta.content };
    if (choice?.finish_reason === 'length') yield { kind: 'note', text: '… (cut: --max-tokens)' };
  }
  if (!isWhole) throw cliError('ANSWER_BROKEN', 'the connection ended before the answer did');
}
