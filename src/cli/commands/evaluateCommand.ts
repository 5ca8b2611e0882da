import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { cliError } from '../errors.js';
import { clusterAnswers } from '../evaluation/clusterAnswers.js';
import { engineAnswers } from '../evaluation/engineAnswers.js';
import { type AdapterEvaluation, type AnswerSource, evaluateAdapter, type Question } from '../evaluation/evaluateAdapter.js';
import { ProgressBar } from '../ProgressBar.js';

export interface EvaluateFlags {
  readonly domain: string;
  readonly data: string;
  readonly adapter?: string;
  readonly model: string;
  readonly embeddingModel: string;
  readonly url: string;
  readonly json: boolean;
  readonly write: boolean;
}

const line = z.looseObject({ question: z.string().min(1), answer: z.string().min(1) });

/**
 * `ostraka adapter evaluate`: asks every held-out question with and without the adapter, greedily, and prints the figures that an
 * announcement carries (R24, E2).
 */
export async function evaluateCommand(flags: EvaluateFlags): Promise<void> {
  const questions = await readQuestions(flags.data);
  const source: AnswerSource =
    flags.adapter === undefined
      ? clusterAnswers({ url: flags.url, domain: flags.domain })
      : await engineAnswers({
          ...flags,
          adapter: flags.adapter,
          engineMainPath: fileURLToPath(new URL('../engineMain.js', import.meta.url)),
        });
  const bar = new ProgressBar({ label: `evaluating ${flags.domain}` });
  try {
    const result = await evaluateAdapter({
      domain: flags.domain,
      questions,
      source,
      onProgress: (done) => bar.update(done, questions.length * 2),
    });
    bar.end();
    const text = flags.json ? JSON.stringify(result) : JSON.stringify(result, undefined, 2);
    process.stdout.write(`${text}\n`);
    if (flags.write && flags.adapter !== undefined) await store(`${flags.adapter}.evaluation.json`, result);
  } finally {
    await source.close();
  }
}

/** What else the file says of the adapter, such as its training samples, stays. */
const store = async (path: string, result: AdapterEvaluation): Promise<void> => {
  const present = await readFile(path, 'utf8').catch(() => '{}');
  await writeFile(path, `${JSON.stringify({ ...(JSON.parse(present) as object), ...result }, undefined, 2)}\n`);
};

const readQuestions = async (path: string): Promise<readonly Question[]> => {
  const text = await readFile(path, 'utf8').catch((error: Error) => {
    throw cliError('USAGE', `cannot read ${path}: ${error.message}`, { cause: error });
  });
  const lines = text.split('\n').filter((one) => one.trim() !== '');
  if (lines.length === 0) throw cliError('USAGE', `${path} has no questions`);
  return lines.map((one, i) => {
    const parsed = line.safeParse(parseLine(one, path, i));
    if (parsed.success) return parsed.data;
    throw cliError('USAGE', `${path}:${i + 1}: ${parsed.error.issues[0]?.path.join('.')}: ${parsed.error.issues[0]?.message}`);
  });
};

const parseLine = (text: string, path: string, index: number): unknown => {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw cliError('USAGE', `${path}:${index + 1} is not JSON`, { cause: error });
  }
};
