import type { TopologyView } from '../../membership/index.js';
import { platformError } from '../../platform/index.js';
import type { Route } from '../Route.js';
import { responses } from '../responses.js';

/** GET /v1/models: the models that living shards serve, and `default`. */
export function modelListRoutes(parts: { readonly topology: () => TopologyView }): readonly Route[] {
  const style = 'openai' as const;
  const list = () => {
    const names = parts.topology().members.flatMap(({ health, models }) => (health === 'alive' ? models.map(({ name }) => name) : []));
    return ['default', ...new Set(names)].map((id) => ({ id, object: 'model', created: 0, owned_by: 'ostraka' }));
  };
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
