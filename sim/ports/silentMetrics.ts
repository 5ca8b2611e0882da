import type { Metrics } from '../../src/platform/index.js';

/** Metrics that nobody reads. */
export const silentMetrics: Metrics = {
  counter: () => ({ add: () => undefined }),
  gauge: () => ({ set: () => undefined }),
  histogram: () => ({ observe: () => undefined }),
  render: async () => '',
};
