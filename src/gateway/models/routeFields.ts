import { z } from 'zod';
import type { ClusterRequest, RoutingReport } from '../../cooperation/index.js';
import type { HttpRequest } from '../../platform/index.js';
import { checkBody } from '../checkBody.js';

const fallback = z.enum(['hash', 'fail']);
const headerFields = z.looseObject({ 'x-ostraka-domain-fallback': fallback.optional() });

/**
 * The domain of a completion and what is to happen where no shard serves it: `hash`, the default, lets another shard answer, `fail` ends in
 * DOMAIN_UNAVAILABLE. The answer says when another answered. Fields of the body win over headers.
 */
export const routeFields = {
  fields: { domain: z.string().min(1).max(128).nullish(), domain_fallback: fallback.nullish() },

  /** Error PARAMETER_BAD for a header that is neither. */
  toRoute: (
    given: { readonly domain: string | undefined; readonly domainFallback: 'hash' | 'fail' | undefined },
    headers: HttpRequest['headers'],
  ): Pick<ClusterRequest, 'domain' | 'route'> => {
    const domain = given.domain ?? headers['x-ostraka-domain'];
    const chosen = given.domainFallback ?? checkBody(headerFields, headers)['x-ostraka-domain-fallback'];
    return { ...(domain === undefined ? {} : { domain }), ...(chosen === undefined ? {} : { route: { fallback: chosen } }) };
  },

  /** Headers of an answer of several: said once where any of them fell back. */
  headers: (routings: Iterable<RoutingReport>): { readonly [name: string]: string } => {
    for (const { fallback: reason } of routings) if (reason !== undefined) return { 'x-ostraka-fallback': reason };
    return {};
  },
} as const;
