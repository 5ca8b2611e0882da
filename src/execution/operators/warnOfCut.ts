import type { SequenceContext } from '../SequenceContext.js';

/** What a model did not read is never silent: a value has no place for it, so the query warns. */
export function warnOfCut(call: string, tokensLeftOut: readonly number[] | undefined, context: SequenceContext): void {
  const cut = tokensLeftOut?.filter((tokens) => tokens > 0) ?? [];
  if (cut.length === 0) return;
  const tokens = cut.reduce((total, each) => total + each, 0);
  context.warnings.add(8102, `${call} left out ${tokens} tokens of ${cut.length} texts that are longer than the model reads`);
}
