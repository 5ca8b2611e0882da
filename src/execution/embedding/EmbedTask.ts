import { z } from 'zod';
import type { JsonValue } from '../../base/index.js';
import { collectionRefWire } from '../collectionRefWire.js';

const version = 1;

/**
 * A statement as each shard gets it, and as it notes it where it is to go on after a restart: the text and not the plan, which another
 * version of the product may write in another way.
 */
export const embedTaskWire = z.strictObject({
  version: z.literal(version).default(version),
  /** The same on every shard. */
  job: z.string().min(1).max(512),
  collection: collectionRefWire,
  query: z.string(),
  bindVars: z.record(
    z.string(),
    z.unknown().transform((value) => value as JsonValue),
  ),
});

export type EmbedTask = z.infer<typeof embedTaskWire>;
