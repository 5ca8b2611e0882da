import { z } from 'zod';
import type { CollectionRef } from '../storage/index.js';

/** A collection as it stands in requests between shards. */
export const collectionRefWire = z
  .strictObject({ database: z.string(), name: z.string(), id: z.int(), kind: z.enum(['document', 'edge']) })
  .transform((value): CollectionRef => value);
