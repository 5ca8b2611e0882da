import type { GatewayOptions } from '../options.js';

/** Bounds and defaults of one completion. */
export type CompletionLimits = Pick<
  GatewayOptions,
  | 'messagesMax'
  | 'choicesMax'
  | 'promptsMax'
  | 'answersMax'
  | 'toolsMax'
  | 'toolCallsMax'
  | 'answerTokensMax'
  | 'chatTokensDefault'
  | 'textTokensDefault'
>;
