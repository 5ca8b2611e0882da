import type { TopologyMember, TopologyView } from '../../membership/index.js';
import { adapterKey, platformError } from '../../platform/index.js';
import type { Route } from '../Route.js';
import { responses } from '../responses.js';

/**
 * GET /v1/models: the models that living shards serve, `default`, and their adapters with the model they belong to as `parent`; a domain
 * lists the contents and scales that are announced under it. `loaded`: one of the shards answers with it at once.
 */
export function modelListRoutes(parts: { readonly topology: () => TopologyView }): readonly Route[] {
  const style = 'openai' as const;
  const list = () => modelsOf(parts.topology().members.filter(({ health }) => health === 'alive'));
  return [
    { method: 'GET', pattern: '/v1/models', style, handle: async () => responses.json(200, { object: 'list', data: list() }) },
    {
      method: 'GET',
      pattern: '/v1/models/:model',
      style,
      handle: async ({ parameters }) => {
        const model = list().find(({ id }) => id === parameters['model']);
        if (!model) throw platformError('MODEL_UNKNOWN', `no model ${parameters['model']} is served`);
        return responses.json(200, model);
      },
    },
  ];
}

/** A domain that is called as a model is not listed: the model answers to that name. */
const modelsOf = (members: readonly TopologyMember[]) => {
  const common = { object: 'model', created: 0, owned_by: 'ostraka' };
  const served = members.flatMap(({ models, ready }) => models.map(({ name, loaded }) => ({ name, loaded: ready && loaded !== false })));
  const names = new Set(['default', ...served.map(({ name }) => name)]);
  const isLoaded = (id: string): boolean =>
    id === 'default' ? members.some(({ ready }) => ready) : served.some(({ name, loaded }) => name === id && loaded);
  const parents = new Map(
    members.flatMap(({ announcements, models }) =>
      announcements.map(
        ({ domain, modelDigest }) => [domain, models.find(({ digest }) => digest === modelDigest)?.name ?? 'default'] as const,
      ),
    ),
  );
  const adapters = [...parents].filter(([domain]) => !names.has(domain));
  return [
    ...[...names].map((id) => ({ id, ...common, loaded: isLoaded(id) })),
    ...adapters.map(([id, parent]) => ({ id, ...common, parent, adapters: adaptersOf(id, members) })),
  ];
};

const adaptersOf = (domain: string, members: readonly TopologyMember[]) => {
  const found = new Map<string, { readonly digest: string; readonly scale: number; readonly shards: string[] }>();
  for (const { announcements, shardId } of members)
    for (const { adapterDigest: digest, scale } of announcements.filter((one) => one.domain === domain)) {
      const entry = found.get(adapterKey({ digest, scale })) ?? { digest, scale, shards: [] };
      entry.shards.push(shardId);
      found.set(adapterKey({ digest, scale }), entry);
    }
  return [...found.values()];
};
