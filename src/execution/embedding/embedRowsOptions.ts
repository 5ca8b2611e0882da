import { z } from 'zod';

/** OPTIONS of `LLM EMBED … FOR`. */
export const embedRowsOptions = z.strictObject({
  dimensions: z.int().min(1).optional(),
  truncate: z.boolean().default(false),
  normalize: z.boolean().default(true),
  /** The statement answers once every shard has noted the job, and the shards go on by themselves, also after a restart. */
  background: z.boolean().default(false),
});

export type EmbedRowsOptions = z.infer<typeof embedRowsOptions>;
