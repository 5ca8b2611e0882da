import { z } from 'zod';

/** Bounds of constrained output. Beyond any of the first group a constraint is refused: CONSTRAINT_TOO_LARGE names the option. */
export const grammarOptions = z.strictObject({
  sourceBytesMax: z.int().min(64).default(65_536).describe('bytes of a constraint as JSON'),
  nestingMax: z.int().min(4).max(256).default(128).describe('groups in groups, or brackets in a schema'),
  rulesMax: z.int().min(16).default(10_000).describe('rules of a compiled grammar'),
  nodesMax: z.int().min(64).default(100_000).describe('nodes of a compiled grammar; a counted repetition costs one for each time'),
  compileStepsMax: z.int().min(1000).default(20_000_000).describe('steps of one compilation, about 10 ns each'),
  configurationsMax: z
    .int()
    .min(16)
    .default(2048)
    .describe('readings of one text that are alive at once; more end the request with CONSTRAINT_TOO_LARGE'),
  stepWorkMax: z.int().min(1000).default(500_000).describe('configurations computed for one token; more end the request in the same way'),
  stackDepthMax: z.int().min(8).default(128).describe('open rules of an answer; a deeper one cannot be drawn'),
  statesMax: z
    .int()
    .min(64)
    .default(8192)
    .describe('automaton states kept for one grammar; when full they are forgotten and computed anew'),
  masksMax: z.int().min(1).default(128).describe('sets of allowed tokens kept for one grammar, one bit a token; the oldest leaves first'),
  grammarsMax: z.int().min(1).default(16).describe('compiled grammars kept for the next request with the same constraint'),
});

export type GrammarOptions = z.infer<typeof grammarOptions>;
