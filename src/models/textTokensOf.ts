import { longestTextDefault, type ModelDescription } from '../platform/index.js';

/** The longest text that an engine takes with this embedding model: as was asked for, no longer than it was trained for. */
export function textTokensOf(model: Pick<ModelDescription, 'isEncoder' | 'contextTokensMax'>, asked: number | undefined): number {
  const wanted = asked ?? longestTextDefault[model.isEncoder ? 'encoder' : 'decoder'];
  return model.contextTokensMax > 0 ? Math.min(wanted, model.contextTokensMax) : wanted;
}
