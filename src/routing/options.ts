import { z } from 'zod';

/** Routing of inference requests (R24, paper §IV-A). */
export const routingOptions = z.strictObject({
  gammaPerSecond: z.number().min(0).default(0.1).describe('accuracy that one second of latency is worth (E1)'),
  tiers: z.array(z.number().min(0).max(1)).min(1).default([0.8, 0.6, 0.4]).describe('thresholds of accuracyDelta, tried in order'),
  equalScoreMargin: z.number().min(0).default(0.02).describe('scores closer than this count as equal: the less loaded shard wins'),
  prefixPendingCredit: z
    .number()
    .min(0)
    .default(1)
    .describe('a shard with rows of the prompt may have so many more pending requests than another and still be chosen; others fetch them'),
  overloadedPendingMin: z.int().min(1).default(128).describe('a shard with so many pending requests is not chosen while another can be'),
});

export type RoutingOptions = z.infer<typeof routingOptions>;
