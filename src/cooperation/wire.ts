import { z } from 'zod';

const sampling = z.strictObject({
  tokensMax: z.int().min(1),
  temperature: z.number().min(0),
  topP: z.number().min(0).max(1),
  topK: z.int().min(0),
  repetitionPenalty: z.number().min(0),
  seed: z.int().optional(),
  stop: z.array(z.string()),
});

const generateRequest = z.strictObject({
  requestId: z.string(),
  model: z.string(),
  messages: z.array(z.strictObject({ role: z.enum(['system', 'user', 'assistant']), content: z.string() })),
  adapterDigest: z.string().optional(),
  sampling,
  priority: z.enum(['low', 'normal', 'high', 'critical']),
});

/** Bodies of the inference methods between shards. */
export const wire = {
  generateRequest,
  batchRequest: z.strictObject({ entries: z.array(z.strictObject({ index: z.int().min(0), request: generateRequest })).max(4096) }),
};
