import { homedir } from 'node:os';
import { join } from 'node:path';

/** Where models are kept: OSTRAKA_CACHE, else the user's cache folder. */
export function cacheFolder(): string {
  const own = process.env['OSTRAKA_CACHE'];
  if (own) return own;
  return join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'ostraka');
}
