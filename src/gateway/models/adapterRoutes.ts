import { z } from 'zod';
import type { AdapterService } from '../../cooperation/index.js';
import type { AdapterCapabilityAnnouncement, TopologyView } from '../../membership/index.js';
import { adapterKey } from '../../platform/index.js';
import { checkBody } from '../checkBody.js';
import type { Route } from '../Route.js';
import { responses } from '../responses.js';

const name = z.string().min(1).max(128);
const path = z
  .string()
  .min(1)
  .max(4_096)
  .refine((text) => !text.includes('\0'), 'must not hold a zero byte');

const loadBody = z.strictObject({
  lora_name: name,
  lora_path: path,
  scale: z.number().min(0).max(100).default(1),
  accuracyDelta: z.number().min(-1).max(1).nullish(),
  load_inplace: z.literal(false).optional(),
});
const unloadBody = z.strictObject({ lora_name: name, lora_int_id: z.int().nullish() });

interface Parts {
  readonly adapters: AdapterService;
  readonly topology: () => TopologyView;
}

/**
 * POST /v1/load_lora_adapter and /v1/unload_lora_adapter in vLLM's shape, for the shard that is asked; GET /v1/adapters lists those of
 * all living shards (R21). An adapter is loaded under a domain; unloading takes that, or its digest, with or without `@scale`.
 */
export function adapterRoutes(parts: Parts): readonly Route[] {
  const style = 'openai' as const;
  return [
    {
      method: 'POST',
      pattern: '/v1/load_lora_adapter',
      style,
      handle: async (context) => {
        const { lora_name: domain, lora_path, scale, accuracyDelta } = checkBody(loadBody, context.json());
        const asked = { domain, path: lora_path, scale, ...(typeof accuracyDelta === 'number' && { accuracyDelta }) };
        return responses.json(200, describe(await parts.adapters.load(asked, context.signal), false));
      },
    },
    {
      method: 'POST',
      pattern: '/v1/unload_lora_adapter',
      style,
      handle: async (context) => {
        const { lora_name: asked } = checkBody(unloadBody, context.json());
        const unloaded = await parts.adapters.unload(asked, context.signal);
        return responses.json(200, { ...unloaded, shard: parts.topology().selfShardId, unloaded: true });
      },
    },
    {
      method: 'GET',
      pattern: '/v1/adapters',
      style,
      handle: async () => responses.json(200, { object: 'list', data: list(parts.topology()) }),
    },
  ];
}

const list = ({ members }: TopologyView) =>
  members
    .filter(({ health }) => health === 'alive')
    .flatMap(({ announcements, load }) =>
      announcements.map((one) => describe(one, load?.activeLoraAdapters.includes(keyOf(one)) ?? false)),
    );

const keyOf = ({ adapterDigest: digest, scale }: AdapterCapabilityAnnouncement): string => adapterKey({ digest, scale });

/** `inUse`: a request ran with it when its shard reported its load last. */
const describe = (one: AdapterCapabilityAnnouncement, inUse: boolean) => ({
  object: 'adapter',
  domain: one.domain,
  digest: one.adapterDigest,
  modelDigest: one.modelDigest,
  scale: one.scale,
  shard: one.shardId,
  source: one.source,
  accuracyDelta: one.accuracyDelta,
  inUse,
});
