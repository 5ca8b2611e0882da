import type { GenerateRequest } from '../../platform/index.js';

/** Priorities as numbers: a level is what waiting raises a request by. */
export const rankOf: { readonly [priority in GenerateRequest['priority']]: number } = { low: 0, normal: 1, high: 2, critical: 3 };
