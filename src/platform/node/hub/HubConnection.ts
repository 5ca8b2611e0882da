import { platformError } from '../../index.js';
import type { HubLimits } from './HubLimits.js';

export interface HubAddress {
  /** Base address of the hub. */
  readonly endpoint: URL;
  readonly token: string | undefined;
}

/** An answer that is no redirect, and what the answers on the way to it said of the file. */
export interface HubAnswer {
  readonly response: Response;
  /** SHA-256 and size of a file that is kept apart from its repository. */
  readonly linked: { readonly etag: string | null; readonly size: string | null };
}

const isLoopback = ({ hostname }: URL): boolean => hostname === 'localhost' || hostname === '[::1]' || /^127\./.test(hostname);

/**
 * Requests to a hub and to where it sends them. The token goes to the hub's own origin alone, and only where nobody listens; a redirect
 * from https to http is not followed. Errors: MODEL_FETCH_FAILED; what fetch throws.
 */
export class HubConnection {
  readonly #address: HubAddress;
  readonly #limits: Pick<HubLimits, 'redirectsMax'>;

  constructor(address: HubAddress, limits: Pick<HubLimits, 'redirectsMax'>) {
    this.#address = address;
    this.#limits = limits;
  }

  /** `path`: below the base address, with its leading slash. `staysHere`: a redirect to another origin is an answer. */
  async ask(
    path: string,
    request: {
      readonly method: 'GET' | 'HEAD';
      readonly headers?: { readonly [name: string]: string };
      readonly signal: AbortSignal;
      readonly staysHere?: boolean;
    },
  ): Promise<HubAnswer> {
    const { method, headers, signal, staysHere = false } = request;
    const { endpoint } = this.#address;
    let url = new URL(`${endpoint.pathname.replace(/\/+$/, '')}${path}`, endpoint);
    const linked: { etag: string | null; size: string | null } = { etag: null, size: null };
    for (let hop = 0; hop <= this.#limits.redirectsMax; hop++) {
      const response = await fetch(url, { method, headers: { ...headers, ...this.#credentials(url) }, signal, redirect: 'manual' });
      linked.etag ??= response.headers.get('x-linked-etag');
      linked.size ??= response.headers.get('x-linked-size');
      const next = nextOf(response, url);
      if (next === undefined || (staysHere && next.origin !== endpoint.origin)) return { response, linked };
      await response.body?.cancel();
      url = next;
    }
    throw platformError('MODEL_FETCH_FAILED', `the hub redirects more than ${this.#limits.redirectsMax} times`);
  }

  #credentials(url: URL): { readonly authorization?: string } {
    const { endpoint, token } = this.#address;
    const isSafe = url.protocol === 'https:' || isLoopback(url);
    return token !== undefined && url.origin === endpoint.origin && isSafe ? { authorization: `Bearer ${token}` } : {};
  }
}

const nextOf = ({ status, headers }: Response, from: URL): URL | undefined => {
  const location = [301, 302, 303, 307, 308].includes(status) ? headers.get('location') : null;
  if (location === null) return undefined;
  const next = URL.canParse(location, from.href) ? new URL(location, from) : undefined;
  if (next?.protocol === 'https:' || (next?.protocol === 'http:' && from.protocol === 'http:')) return next;
  throw platformError('MODEL_FETCH_FAILED', 'the hub redirects to an address that is not taken');
};
