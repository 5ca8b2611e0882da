import { z } from 'zod';
import { shardConfig } from '../shard/index.js';

/**
 * The file that `ostraka start --config` reads: a shard's configuration plus where this machine keeps its things. Paths may be relative
 * to the file.
 */
export const startConfig = z.strictObject({
  dataFolder: z.string().min(1).describe('documents of this shard'),
  metadataFolder: z.string().min(1).describe('metadata shared by the shards of this machine'),
  adapterFolder: z
    .string()
    .min(1)
    .exactOptional()
    .describe('adapters loaded over HTTP must lie below it; absent = any absolute path of this machine'),
  adapterBytesMax: z.int().min(1).default(2_147_483_648).describe('largest adapter file loaded over HTTP, bytes'),
  certificates: z.strictObject({
    authority: z.string().min(1).describe('PEM file of the cluster’s authority'),
    certificate: z.string().min(1).describe('PEM file of this shard’s certificate'),
    key: z.string().min(1).describe('PEM file of its private key'),
  }),
  log: z.strictObject({ level: z.enum(['debug', 'info', 'warn', 'error']).default('info'), file: z.string().optional() }).prefault({}),
  /** Diagnosis: every frame received from another shard is appended here. Frames hold documents. */
  recordFramesFile: z.string().optional(),
  shard: shardConfig,
});

export type StartConfig = z.infer<typeof startConfig>;
export type StartConfigInput = z.input<typeof startConfig>;
