import type { TopologyView } from '../membership/index.js';
import type { ClusterRequest } from './ClusterRequest.js';

type Named = Pick<ClusterRequest, 'model' | 'domain' | 'route'>;

/**
 * A request whose model is the name of an adapter, as vLLM's clients write it, becomes one for that domain of the adapter's base model;
 * who names the adapter wants it however small its gain, and no other: the base model does not answer in its place. A model's own name comes first; a request that
 * names one adapter as its model and another domain stays as it is, and is refused for its unknown model.
 */
export function adapterAsModel<Request extends Named>(request: Request, view: TopologyView): Request {
  const { model, domain, route } = request;
  const isModel = model === 'default' || view.members.some(({ models }) => models.some(({ name }) => name === model));
  if (isModel || (domain !== undefined && domain !== model)) return request;
  for (const { announcements, models } of view.members) {
    const announcement = announcements.find((one) => one.domain === model);
    if (!announcement) continue;
    const base = models.find(({ kind, digest }) => kind === 'chat' && digest === announcement.modelDigest);
    return { ...request, model: base?.name ?? 'default', domain: model, route: { ...route, fallback: 'fail', isNamed: true } };
  }
  return request;
}
