import type { Metrics } from '../platform/index.js';

/** For an engine that is one of several: the figures of the shard's own engine go by the names, those of the others by model. */
export const unpublishedMetrics: Metrics = {
  counter: () => ({ add: () => undefined }),
  gauge: () => ({ set: () => undefined }),
  histogram: () => ({ observe: () => undefined }),
  render: async () => '',
};
