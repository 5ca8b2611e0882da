import { z } from 'zod';
import type { JsonValue } from '../base/index.js';

// What JSON.parse made is JSON; looking through it again, in depth, would only cost.
const json = z.custom<JsonValue>((value) => value !== undefined);

const constraint = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('json') }),
  z.strictObject({ kind: z.literal('jsonSchema'), schema: json }),
  z.strictObject({ kind: z.literal('regex'), pattern: z.string() }),
  z.strictObject({ kind: z.literal('choice'), texts: z.array(z.string()) }),
  z.strictObject({ kind: z.literal('gbnf'), grammar: z.string() }),
]);

const sampling = z.strictObject({
  tokensMax: z.int().min(1),
  temperature: z.number().min(0).max(2),
  topP: z.number().min(0).max(1),
  topK: z.int().min(0),
  minP: z.number().min(0).max(1),
  typicalP: z.number().min(0).max(1),
  repetitionPenalty: z.number().min(0.01).max(100),
  presencePenalty: z.number(),
  frequencyPenalty: z.number(),
  logitBias: z.array(z.strictObject({ token: z.int(), bias: z.number() })).max(1024),
  seed: z.int().optional(),
  stop: z.array(z.string()),
  stopTokens: z.array(z.int()).max(1024),
  tokensMin: z.int().min(0),
  ignoreEnd: z.boolean(),
  logprobsTop: z.int().min(0).max(64).optional(),
  constraint: constraint.optional(),
});

const message = z.strictObject({
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  content: z.string(),
  toolCalls: z.array(z.strictObject({ id: z.string(), name: z.string(), arguments: z.string() })).optional(),
  toolCallId: z.string().optional(),
});

const tools = z.strictObject({
  tools: z.array(z.strictObject({ name: z.string(), description: z.string().optional(), parameters: json, strict: z.boolean() })),
  callable: z.array(z.string()),
  isRequired: z.boolean(),
  callsMax: z.int().min(1),
});

const generateRequest = z.strictObject({
  requestId: z.string(),
  model: z.string(),
  messages: z.array(message),
  prompt: z.string().optional(),
  tools: tools.optional(),
  adapter: z.strictObject({ digest: z.string().max(64), scale: z.number().min(0).max(100) }).optional(),
  sampling,
  priority: z.enum(['low', 'normal', 'high', 'critical']),
  owner: z.string().max(128).optional(),
  streamed: z.boolean().optional(),
  deadlineMs: z.number().min(0).optional(),
});

const batchEntry = z.strictObject({
  index: z.int().min(0),
  request: generateRequest,
  /** Of this entry alone. */
  timeoutMs: z.number().min(0).optional(),
});

/** Bodies of the inference methods between shards. */
export const wire = {
  generateRequest,
  batchRequest: z.strictObject({ entries: z.array(batchEntry).max(4096) }),
};
