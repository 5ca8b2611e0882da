import { type TrainingOptions, trainingOptions } from '../../training/index.js';
import { cliError } from '../errors.js';

export interface SettingFlags {
  readonly rank: number;
  readonly alpha?: number;
  readonly epochs?: number;
  readonly steps?: number;
  readonly learningRate: number;
  readonly batch: number;
  readonly context?: number;
  readonly seed: number;
}

const epochsDefault = 6;
const contextTokensDefault = 512;

/** The settings of a run from its flags, its number of examples and its model. Errors: USAGE. */
export function chooseSettings(
  flags: SettingFlags,
  facts: { readonly examples: number; readonly contextTokensOfModel: number },
): TrainingOptions {
  if (flags.epochs !== undefined && flags.steps !== undefined) throw cliError('USAGE', 'give --epochs or --steps, not both');
  const { rank, batch, learningRate, seed } = flags;
  const steps = flags.steps ?? (flags.epochs ?? epochsDefault) * Math.ceil(facts.examples / batch);
  const contextTokens = chooseContext(flags.context, facts.contextTokensOfModel);
  const parsed = trainingOptions.safeParse({ rank, alpha: flags.alpha ?? 2 * rank, steps, batch, learningRate, seed, contextTokens });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw cliError('USAGE', `${issue?.path.join('.')}: ${issue?.message}`);
}

const chooseContext = (asked: number | undefined, ofModel: number): number => {
  if (asked === undefined) return Math.min(contextTokensDefault, ofModel);
  if (asked <= ofModel) return asked;
  throw cliError('USAGE', `--context of ${asked} tokens: the model was trained on ${ofModel}`);
};
