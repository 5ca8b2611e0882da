import type { HubName } from './HubName.js';

/** The one text for a name, without what goes without saying. */
export function writeHubName({ owner, repository, file, revision }: HubName): string {
  return `hf:${owner}/${repository}${file === undefined ? '' : `/${file}`}${revision === 'main' ? '' : `@${revision}`}`;
}
