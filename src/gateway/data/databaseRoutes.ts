import { z } from 'zod';
import type { Catalog, DatabaseInfo } from '../../sharding/index.js';
import { checkBody } from '../checkBody.js';
import { gatewayError } from '../errors.js';
import type { Route, RouteContext } from '../Route.js';
import { responses } from '../responses.js';

const created = z.looseObject({ name: z.string() });

const infoOf = ({ name, id }: DatabaseInfo) => ({ name, id: String(id), path: '', isSystem: name === '_system', sharding: '' });

/** Databases: list, current, create, drop. As in ArangoDB, only `_system` knows of the others. */
export function databaseRoutes(catalog: Catalog): readonly Route[] {
  const style = 'arango' as const;
  const names = async () => responses.arango(200, { result: (await catalog.databases()).map(({ name }) => name) });
  return [
    {
      method: 'GET',
      pattern: '/_api/database',
      style,
      handle: async (context) => {
        systemOnly(context);
        return names();
      },
    },
    { method: 'GET', pattern: '/_api/database/user', style, handle: async () => names() },
    {
      method: 'GET',
      pattern: '/_api/database/current',
      style,
      handle: async ({ database }) => responses.arango(200, { result: infoOf(await catalog.database(database)) }),
    },
    {
      method: 'POST',
      pattern: '/_api/database',
      style,
      handle: async (context) => {
        systemOnly(context);
        await catalog.createDatabase(checkBody(created, context.json()).name);
        return responses.arango(201, { result: true });
      },
    },
    {
      method: 'DELETE',
      pattern: '/_api/database/:name',
      style,
      handle: async (context) => {
        systemOnly(context);
        await catalog.dropDatabase(context.parameters['name'] as string);
        return responses.arango(200, { result: true });
      },
    },
  ];
}

const systemOnly = ({ database }: RouteContext): void => {
  if (database !== '_system') throw gatewayError('SYSTEM_DATABASE_ONLY', `operation only allowed in system database, not in ${database}`);
};
