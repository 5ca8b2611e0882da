import { platformError } from '../../platform/index.js';

/** Only the model knows which tokens there are. Errors: TOKEN_UNKNOWN. */
export function checkToken(token: number, vocabularySize: number): void {
  if (Number.isInteger(token) && token >= 0 && token < vocabularySize) return;
  throw platformError('TOKEN_UNKNOWN', `the model has tokens 0 to ${vocabularySize - 1}, not ${token}`, { data: { token } });
}
