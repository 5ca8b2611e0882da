import { sha256Hex } from '../../src/base/index.js';
import type { ScriptedAnswer } from '../engine/index.js';

export interface SimAdapter {
  readonly domain: string;
  readonly path: string;
  /** What the toy model takes for the digest of the file. */
  readonly digest: string;
  readonly accuracyDelta: number;
}

const adapter = (domain: string, accuracyDelta: number): SimAdapter => {
  const path = `adapters/${domain}.gguf`;
  return { domain, path, digest: sha256Hex(path), accuracyDelta };
};

export const simAdapters: readonly SimAdapter[] = [adapter('legal', 0.85), adapter('medical', 0.7)];

const questionCount = 24;

/** The text of a question. Its number is delimited, so that no question holds another. */
export const questionText = (number: number): string => `case <${number}> please`;

/** What the model says to a question, with an adapter or without. */
export const answerText = (number: number, domain: string | undefined): string => `${domain ?? 'base'} answer ${number}.`;

export const simQuestions: readonly number[] = Array.from({ length: questionCount }, (_, i) => i);

/** Every answer the simulated model can give. */
export const simScript: readonly ScriptedAnswer[] = simQuestions.flatMap((number) => [
  ...simAdapters.map(({ digest, domain }) => ({
    adapterDigest: digest,
    question: questionText(number),
    answer: answerText(number, domain),
  })),
  { adapterDigest: null, question: questionText(number), answer: answerText(number, undefined) },
]);
