import type { HttpRequest } from '../platform/index.js';

const hostOf = (origin: string): string => /^[a-z][a-z0-9+.-]*:\/\/([^/]*)/i.exec(origin)?.[1]?.toLowerCase() ?? origin;
const isAddress = (host: string): boolean => /^(localhost|\d{1,3}(\.\d{1,3}){3}|\[[0-9a-f:.]+\])(:\d+)?$/i.test(host);

/**
 * Whether a browser sends this for a page that is not ours. Without a key, reaching loopback is all that a request needs, and any web
 * page can make its reader's browser reach it: directly (then `Origin` names the page) or by a name that resolves to loopback (then
 * `Host` is that name). Programs send no `Origin` and name an address.
 */
export function isForeignOrigin({ headers }: Pick<HttpRequest, 'headers'>): boolean {
  const { host = '', origin } = headers as { readonly host?: string; readonly origin?: string };
  if (host !== '' && !isAddress(host)) return true;
  return origin !== undefined && hostOf(origin) !== host.toLowerCase();
}
