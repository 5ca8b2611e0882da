import { platformError } from '../platform/index.js';
import type { HubName } from './HubName.js';

const form = /^hf:([^/@]+)\/([^/@]+)(?:\/([^@]+))?(?:@(.+))?$/;
// What goes into a path of a request is of these alone, and no part of it leads upwards.
const part = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/;
const partsMax = 16;

const areParts = (path: string): boolean => {
  const parts = path.split('/');
  return parts.length <= partsMax && parts.every((one) => part.test(one) && !one.includes('..'));
};

/** Errors: MODEL_NAME_INVALID. */
export function parseHubName(text: string): HubName {
  const [, owner = '', repository = '', file, revision = 'main'] = form.exec(text) ?? [];
  const refuse = (reason: string) => platformError('MODEL_NAME_INVALID', `${JSON.stringify(text)}: ${reason}`);
  if (![owner, repository, file ?? 'x', revision].every(areParts))
    throw refuse('give hf:OWNER/NAME, hf:OWNER/NAME/FILE.gguf, and behind it @REVISION where it is not main');
  if (file !== undefined && !file.endsWith('.gguf')) throw refuse('a model is a GGUF file, whose name ends in .gguf');
  return { owner, repository, file, revision };
}
