import { z } from 'zod';
import type { DocumentService } from '../../execution/index.js';
import type { Catalog, CollectionInfo } from '../../sharding/index.js';
import { checkBody } from '../checkBody.js';
import { checkSupported } from '../checkSupported.js';
import type { Route } from '../Route.js';
import { responses } from '../responses.js';

const created = z.looseObject({
  name: z.string(),
  type: z.union([z.literal(2), z.literal(3)]).optional(),
  waitForSync: z.boolean().optional(),
  keyOptions: z.looseObject({ type: z.string().optional(), allowUserKeys: z.boolean().optional() }).nullish(),
  shardKeys: z.array(z.string()).nullish(),
  replicationFactor: z.union([z.number(), z.string()]).nullish(),
  writeConcern: z.number().nullish(),
});
type Created = z.infer<typeof created>;

// Rules for what is stored and where; a collection without them would take what it should not.
const refused = ['schema', 'computedValues', 'distributeShardsLike', 'isSmart', 'isDisjoint', 'smartGraphAttribute', 'smartJoinAttribute'];

/** What must have the value that every collection here has. Error NOT_SUPPORTED. */
const checkCreated = (given: Created): void => {
  checkSupported(given, refused);
  const wishes = {
    'keyOptions.type': (given.keyOptions?.type ?? 'traditional') !== 'traditional',
    'keyOptions.allowUserKeys: false': given.keyOptions?.allowUserKeys === false,
    'shardKeys other than _key': (given.shardKeys ?? ['_key']).join() !== '_key',
    'replicationFactor above 1': (given.replicationFactor ?? 1) !== 1,
    'writeConcern above 1': (given.writeConcern ?? 1) > 1,
  };
  checkSupported(wishes, Object.keys(wishes));
};

const infoOf = ({ id, name, kind }: CollectionInfo) => ({
  id: String(id),
  name,
  type: kind === 'edge' ? 3 : 2,
  status: 3,
  statusString: 'loaded',
  isSystem: name.startsWith('_'),
  globallyUniqueId: `c${id}/`,
});

// Every commit is fsynced, whatever a client asks for.
const propertiesOf = (collection: CollectionInfo) => ({
  ...infoOf(collection),
  waitForSync: true,
  cacheEnabled: false,
  keyOptions: { type: 'traditional', allowUserKeys: true },
  schema: null,
  shardKeys: ['_key'],
});

/** Collections: list, create, get, properties, count, drop. */
export function collectionRoutes(parts: { readonly catalog: Catalog; readonly documents: DocumentService }): readonly Route[] {
  const { catalog, documents } = parts;
  const style = 'arango' as const;
  const one = (database: string, parameters: { readonly [name: string]: string }) =>
    catalog.collection(database, parameters['collection'] as string);
  return [
    {
      method: 'GET',
      pattern: '/_api/collection',
      style,
      handle: async ({ database, request }) => {
        const all = (await catalog.collections(database)).map(infoOf);
        const hidesSystem = request.query.get('excludeSystem') === 'true';
        return responses.arango(200, { result: hidesSystem ? all.filter(({ isSystem }) => !isSystem) : all });
      },
    },
    {
      method: 'POST',
      pattern: '/_api/collection',
      style,
      handle: async (context) => {
        const given = checkBody(created, context.json());
        checkCreated(given);
        const { name, type, waitForSync } = given;
        const kind = type === 3 ? 'edge' : 'document';
        const collection = await catalog.createCollection({ database: context.database, name, kind, waitForSync: waitForSync ?? false });
        return responses.arango(200, propertiesOf(collection));
      },
    },
    {
      method: 'GET',
      pattern: '/_api/collection/:collection',
      style,
      handle: async ({ database, parameters }) => responses.arango(200, infoOf(await one(database, parameters))),
    },
    {
      method: 'GET',
      pattern: '/_api/collection/:collection/properties',
      style,
      handle: async ({ database, parameters }) => responses.arango(200, propertiesOf(await one(database, parameters))),
    },
    {
      method: 'GET',
      pattern: '/_api/collection/:collection/count',
      style,
      handle: async ({ database, parameters, signal }) => {
        const collection = await one(database, parameters);
        return responses.arango(200, { ...propertiesOf(collection), count: await documents.count(database, collection.name, signal) });
      },
    },
    {
      method: 'DELETE',
      pattern: '/_api/collection/:collection',
      style,
      handle: async ({ database, parameters }) => {
        const { id } = await catalog.dropCollection(database, parameters['collection'] as string);
        return responses.arango(200, { id: String(id) });
      },
    },
  ];
}
