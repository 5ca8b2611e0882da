import { gatewayError } from './errors.js';
import type { Route } from './Route.js';

interface Compiled {
  readonly route: Route;
  readonly segments: readonly string[];
}

const decode = (segment: string): string => {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw gatewayError('REQUEST_MALFORMED', `the path has an invalid percent-encoding: ${segment.slice(0, 80)}`);
  }
};

const match = (compiled: Compiled, path: readonly string[]): { readonly [name: string]: string } | undefined => {
  if (compiled.segments.length !== path.length) return undefined;
  const parameters: [string, string][] = [];
  for (const [i, segment] of compiled.segments.entries()) {
    const part = path[i] as string;
    if (segment.startsWith(':')) parameters.push([segment.slice(1), decode(part)]);
    else if (segment !== part) return undefined;
  }
  return Object.fromEntries(parameters);
};

const fits = ({ segments }: Compiled, path: readonly string[]): boolean =>
  segments.length === path.length && segments.every((segment, i) => segment.startsWith(':') || segment === path[i]);

/**
 * Finds the route of a request. A fixed part of a path wins over a parameter; HEAD is answered wherever GET is (RFC 9110 §9.3.2).
 * Errors: ROUTE_UNKNOWN, METHOD_NOT_ALLOWED with the methods in `data.allow`, REQUEST_MALFORMED.
 */
export class RouteTable {
  readonly #routes: readonly Compiled[];

  constructor(routes: readonly Route[]) {
    const compiled = routes.map((route) => ({ route, segments: route.pattern.split('/').slice(1) }));
    const parameters = ({ segments }: Compiled): number => segments.filter((segment) => segment.startsWith(':')).length;
    this.#routes = compiled.sort((left, right) => parameters(left) - parameters(right));
  }

  /** The shape of errors at a path; undefined where there is none such. */
  styleOf(path: string): Route['style'] | undefined {
    const segments = path.split('/').slice(1);
    return this.#routes.find((compiled) => fits(compiled, segments))?.route.style;
  }

  find(method: string, path: string): { readonly route: Route; readonly parameters: { readonly [name: string]: string } } {
    const segments = path.split('/').slice(1);
    const wanted = method === 'HEAD' ? 'GET' : method;
    const allowed = new Set<string>();
    for (const compiled of this.#routes) {
      const parameters = match(compiled, segments);
      if (!parameters) continue;
      if (compiled.route.method === wanted) return { route: compiled.route, parameters };
      allowed.add(compiled.route.method);
      if (compiled.route.method === 'GET') allowed.add('HEAD');
    }
    if (allowed.size === 0) throw gatewayError('ROUTE_UNKNOWN', `unknown path '${path.slice(0, 200)}'`);
    const data = { allow: [...allowed].sort().join(', ') };
    throw gatewayError('METHOD_NOT_ALLOWED', `method ${method} is not supported for ${path.slice(0, 200)}`, { data });
  }
}
