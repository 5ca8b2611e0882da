import type { GenerateRequest } from '../../platform/index.js';
import type { GrammarSource } from '../grammar/GrammarSource.js';

/**
 * What the answer of a request must be, if anything. Where calls are required, the form of text does not matter: there is none. Without
 * callable tools no call may begin, since a history with calls may lead a model to write one.
 */
export function grammarSourceOf({ tools: use, sampling }: Pick<GenerateRequest, 'tools' | 'sampling'>): GrammarSource | undefined {
  if (use === undefined) return sampling.constraint;
  const tools = use.tools
    .filter(({ name }) => use.callable.includes(name))
    .map(({ name, parameters, strict }) => ({ name, parameters, strict }));
  return { kind: 'toolCalls', tools, callsMax: use.callsMax, text: use.isRequired ? 'none' : (sampling.constraint ?? 'free') };
}
