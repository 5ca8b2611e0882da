import { ChatTemplate, type TemplateBackend } from '../inference/index.js';
import type { Clock, TrainingSequence } from '../platform/index.js';
import { trainingError } from './errors.js';
import type { Example } from './parseExamples.js';

/**
 * Examples as the engine meets them: the question in the model's own chat template, then the answer and the end of its turn. Errors:
 * TRAINING_DATA_INVALID (longer than the context; never cut), MODEL_INVALID, CHAT_REFUSED.
 */
export function encodeExamples(
  examples: readonly Example[],
  request: {
    readonly vocabulary: TemplateBackend;
    readonly clock: Pick<Clock, 'nowMs'>;
    readonly contextTokens: number;
    readonly fileName: string;
  },
): readonly TrainingSequence[] {
  const { vocabulary, clock, contextTokens, fileName } = request;
  const template = new ChatTemplate(vocabulary, clock);
  return examples.map(({ question, answer, line }) => {
    const messages = [{ role: 'user' as const, content: question }];
    const prompt = template.encode(messages);
    const expected = template.encodeAnswer(messages, answer);
    const length = prompt.length + expected.length;
    if (length > contextTokens)
      throw trainingError(
        'TRAINING_DATA_INVALID',
        `${fileName}:${line}: question and answer are ${length} tokens, the context has ${contextTokens}`,
        { data: { line, tokens: length } },
      );
    const tokens = new Int32Array(length);
    tokens.set(prompt);
    tokens.set(expected, prompt.length);
    return { tokens, promptTokens: prompt.length };
  });
}
