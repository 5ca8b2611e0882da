import { z } from 'zod';
import { isObject, type JsonValue } from '../../base/index.js';
import { executionError } from '../errors.js';

const schema = z.object({
  max_tokens: z.int().min(1).default(256),
  temperature: z.number().min(0).default(0),
  top_p: z.number().gt(0).max(1).default(1),
  top_k: z.int().min(0).default(0),
  min_p: z.number().min(0).max(1).default(0),
  typical_p: z.number().gt(0).max(1).default(1),
  repetition_penalty: z.number().gt(0).default(1),
  presence_penalty: z.number().min(-2).max(2).default(0),
  frequency_penalty: z.number().min(-2).max(2).default(0),
  seed: z.int().optional(),
  stop: z.union([z.string().transform((text) => [text]), z.array(z.string())]).default([]),
  timeout_ms: z.int().min(1).default(30_000),
  on_error: z.enum(['null', 'fail', 'entry']).optional(),
  priority: z.enum(['low', 'normal', 'high', 'critical']).default('normal'),
  batch: z.object({ max_rows: z.int().min(1).max(256).default(256) }).default({ max_rows: 256 }),
  max_calls: z.int().min(1).default(1000),
  dedup: z.union([z.literal('auto'), z.boolean()]).default('auto'),
  detail: z.boolean().default(false),
  route: z.object({ min_score: z.number().optional(), fallback: z.enum(['hash', 'fail']).default('hash') }).optional(),
});

/** OPTIONS of INFER with its defaults. */
export type InferOptions = z.infer<typeof schema>;

/** Documented options that this engine keeps in one way only. */
const withoutEffect = new Set(['cache', 'speculative', 'prefix']);

/** Checks OPTIONS: a wrong type or range is INFER_OPTION_INVALID (8106); names that are not options come back to be warned of. */
export function parseInferOptions(value: JsonValue): { readonly options: InferOptions; readonly unknown: readonly string[] } {
  if (!isObject(value)) throw executionError('INFER_OPTION_INVALID', 'OPTIONS of INFER must be an object');
  const parsed = schema.safeParse(value);
  if (parsed.success) return { options: parsed.data, unknown: Object.keys(value).filter((name) => !isKnown(name)) };
  const [issue] = parsed.error.issues;
  const option = issue?.path.join('.') ?? '';
  throw executionError('INFER_OPTION_INVALID', `option ${option} of INFER: ${issue?.message ?? 'invalid'}`, { data: { option } });
}

const isKnown = (name: string): boolean => Object.hasOwn(schema.shape, name) || withoutEffect.has(name);
