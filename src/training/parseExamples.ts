import { z } from 'zod';
import { trainingError } from './errors.js';

/** A question and the answer to learn. `line` counts from 1 in the file they stand in. */
export interface Example {
  readonly question: string;
  readonly answer: string;
  readonly line: number;
}

const example = z.looseObject({ question: z.string().min(1), answer: z.string().min(1) });

/** Reads JSON lines {question, answer}, as `adapter evaluate` takes them; empty lines are passed over. Errors: TRAINING_DATA_INVALID. */
export function parseExamples(text: string, file: { readonly name: string; readonly examplesMax: number }): readonly Example[] {
  const lines = text
    .split('\n')
    .map((content, i) => ({ content, line: i + 1 }))
    .filter(({ content }) => content.trim() !== '');
  if (lines.length === 0) throw trainingError('TRAINING_DATA_INVALID', `${file.name} has no examples`);
  if (lines.length > file.examplesMax)
    throw trainingError('TRAINING_DATA_INVALID', `${file.name} has ${lines.length} examples, at most ${file.examplesMax} are taken`);
  return lines.map(({ content, line }) => {
    // What the decoder puts where bytes are no UTF-8: an adapter would learn it.
    if (content.includes('\ufffd'))
      throw trainingError('TRAINING_DATA_INVALID', `${file.name}:${line}: it is no UTF-8`, { data: { line } });
    const parsed = example.safeParse(parseJson(content));
    if (parsed.success) return { question: parsed.data.question, answer: parsed.data.answer, line };
    const [issue] = parsed.error.issues;
    const reason = issue?.path.length ? `${issue.path.join('.')}: ${issue.message}` : 'it is no JSON object {question, answer}';
    throw trainingError('TRAINING_DATA_INVALID', `${file.name}:${line}: ${reason}`, { data: { line } });
  });
}

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
