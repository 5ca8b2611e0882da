import type { TopologyView } from '../membership/index.js';
import { fitsAdapter } from '../routing/index.js';
import { adapterNamed } from './adapterNamed.js';
import type { ClusterRequest } from './ClusterRequest.js';

type Named = Pick<ClusterRequest, 'model' | 'domain' | 'route'>;

/**
 * A request whose model is the name of an adapter (`adapterNamed`), as vLLM's clients write it, becomes one for the adapter's base model
 * with that name as its domain; who names the adapter wants it however small its gain, and no other: the base model does not answer in its
 * place. A model's own name comes first; a request that names one adapter as its model and another domain stays as it is, and is refused
 * for its unknown model.
 */
export function adapterAsModel<Request extends Named>(request: Request, view: TopologyView): Request {
  const { model, domain, route } = request;
  const isModel = model === 'default' || view.members.some(({ models }) => models.some(({ name }) => name === model));
  if (isModel || (domain !== undefined && domain !== model)) return request;
  const base = baseOf(model, view);
  return base === undefined ? request : { ...request, model: base, domain: model, route: { ...route, fallback: 'fail', isNamed: true } };
}

/** The base model of the adapters that a name stands for; undefined where it stands for none. */
function baseOf(name: string, { members }: TopologyView): string | undefined {
  const announced = members.flatMap(({ announcements, models }) => announcements.map((one) => ({ ...one, models })));
  const named = adapterNamed(name, announced);
  if (named.kind === 'unknown') return undefined;
  const one = named.kind === 'ambiguous' ? named.choices[0] : announced.find((each) => fitsAdapter(each, named.adapter));
  return one?.models.find(({ kind, digest }) => kind === 'chat' && digest === one.modelDigest)?.name ?? 'default';
}
