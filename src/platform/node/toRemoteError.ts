import { baseError, type OstrakaError } from '../../base/index.js';
import { platformError } from '../index.js';

/** What a model server answered that is no success. */
export interface RemoteRefusal {
  readonly status: number;
  /** Its body, parsed where it was JSON. */
  readonly body: unknown;
  readonly retryAfter: string | null;
}

const contextMessage = /context|maximum (?:model )?length|too many tokens|prompt is too long/i;

/** The error of a ModelService for the answer of an OpenAI-compatible server. */
export function toRemoteError({ status, body, retryAfter }: RemoteRefusal): OstrakaError {
  const { message, code } = describe(body);
  const text = `the model server answered ${status}${message === '' ? '' : `: ${message}`}`;
  const retryAfterSeconds = Number(retryAfter);
  const data = Number.isInteger(retryAfterSeconds) && retryAfterSeconds > 0 ? { retryAfterSeconds } : {};
  if (status === 429) return baseError('QUEUE_FULL', text, { data });
  if (status === 503) return platformError('ENGINE_LOADING', text, { data });
  if (status === 401 || status === 403) return platformError('ENGINE_KEY_REFUSED', text);
  if (status === 404) return code === 'model_not_found' || /model/i.test(message) ? platformError('MODEL_UNKNOWN', text) : lacking(text);
  if (status === 405 || status === 501) return lacking(text);
  if (status === 400 && (code === 'context_length_exceeded' || contextMessage.test(message)))
    return platformError('CONTEXT_LENGTH_EXCEEDED', text);
  if (status < 500) return platformError('ENGINE_REQUEST_REFUSED', text);
  return platformError('ENGINE_STEP_FAILED', text);
}

const lacking = (text: string): OstrakaError => platformError('ENGINE_ABILITY_MISSING', text);

const messageCharactersMax = 500;

const describe = (body: unknown): { readonly message: string; readonly code: string } => {
  const fields = isObject(body) ? body : {};
  const error = isObject(fields['error']) ? fields['error'] : fields;
  const message = error['message'] ?? fields['error'] ?? '';
  return { message: typeof message === 'string' ? message.slice(0, messageCharactersMax) : '', code: String(error['code'] ?? '') };
};

const isObject = (value: unknown): value is { readonly [name: string]: unknown } => typeof value === 'object' && value !== null;
