import { z } from 'zod';
import { baseError, isObject, type JsonValue, onAbort } from '../../base/index.js';
import type { QueryOptions, QueryRequest, QueryService } from '../../execution/index.js';
import type { HttpResponse } from '../../platform/index.js';
import { checkBody } from '../checkBody.js';
import { checkSupported } from '../checkSupported.js';
import { gatewayError } from '../errors.js';
import type { GatewayOptions } from '../options.js';
import type { Route, RouteContext } from '../Route.js';
import { responses } from '../responses.js';
import type { CursorBatch, CursorStore } from './CursorStore.js';

const body = z.looseObject({
  query: z.string(),
  bindVars: z.custom<{ readonly [name: string]: JsonValue }>(isObject, { error: 'must be an object' }).optional(),
  count: z.boolean().optional(),
  batchSize: z.int().min(1).max(1_000_000).optional(),
  ttl: z.number().gt(0).optional(),
  memoryLimit: z.int().min(0).optional(),
  options: z
    .looseObject({
      maxRuntime: z.number().min(0).optional(),
      memoryLimit: z.int().min(0).optional(),
      maxWarningCount: z.int().min(0).optional(),
      failOnWarning: z.boolean().optional(),
      stream: z.boolean().optional(),
      optimizer: z.looseObject({ rules: z.array(z.string()).optional() }).optional(),
    })
    .optional(),
});
type Body = z.infer<typeof body>;

// Each changes the answer; what only changes how it is found (caches, spilling, plans) is ignored.
const refused = ['fullCount', 'profile', 'allPlans', 'allowRetry'];

const bodyOf = (context: RouteContext): Body => {
  const given = checkBody(body, context.json());
  checkSupported(given.options ?? {}, refused);
  return given;
};

/** Cursors, explain and parse. */
export function queryRoutes(parts: {
  readonly queries: QueryService;
  readonly cursors: CursorStore;
  readonly options: GatewayOptions;
}): readonly Route[] {
  const { queries, cursors } = parts;
  const style = 'arango' as const;
  const next = async ({ database, parameters }: RouteContext): Promise<HttpResponse> =>
    batchAnswer(200, await cursors.next(database, parameters['id'] as string));
  return [
    { method: 'POST', pattern: '/_api/cursor', style, handle: (context) => openCursor(parts, context) },
    { method: 'POST', pattern: '/_api/cursor/:id', style, usesDatabase: false, handle: next },
    { method: 'PUT', pattern: '/_api/cursor/:id', style, usesDatabase: false, handle: next },
    {
      method: 'DELETE',
      pattern: '/_api/cursor/:id',
      style,
      usesDatabase: false, // its cursor knows it
      handle: async ({ database, parameters }) => {
        cursors.delete(database, parameters['id'] as string);
        return responses.arango(202, { id: parameters['id'] });
      },
    },
    {
      method: 'POST',
      pattern: '/_api/explain',
      style,
      handle: async (context) => {
        const { database, ...request } = requestOf(context, bodyOf(context));
        const explained = await queries.explain({ database, ...request });
        const { plan, warnings, rulesSkipped } = explained;
        return responses.arango(200, { plan, warnings, cacheable: false, stats: { rulesSkipped } });
      },
    },
    {
      method: 'POST',
      pattern: '/_api/query',
      style,
      handle: async (context) => responses.arango(200, { parsed: true, ...queries.parse(checkBody(body, context.json()).query) }),
    },
  ];
}

const openCursor = async (
  parts: { readonly queries: QueryService; readonly cursors: CursorStore; readonly options: GatewayOptions },
  context: RouteContext,
): Promise<HttpResponse> => {
  const given = bodyOf(context);
  const ttlSeconds = checkTtl(given.ttl, parts.options);
  const ended = new AbortController();
  const abort = (): void => ended.abort(baseError('CANCELLED', 'the cursor was deleted or its time ran out'));
  const unlink = linkAbort(context.signal, ended);
  const place = parts.cursors.reserve();
  try {
    const cursor = await parts.queries.execute({ ...requestOf(context, given), signal: ended.signal });
    const counted = given.count ? await counting(cursor, parts.options.countedResultsMax) : undefined;
    const batch = await parts.cursors.first(counted?.cursor ?? cursor, {
      batchSize: given.batchSize ?? parts.options.batchSize,
      database: context.database,
      ttlMs: ttlSeconds * 1000,
      aheadBytesMax: aheadBytesOf(given, parts.options),
      abort,
    });
    return batchAnswer(201, batch, counted?.count);
  } finally {
    place.release();
    unlink(); // from here on a cursor that stays outlives its request
  }
};

// Well below the memory limit: reading ahead must not fail a query that its reader could have read.
const aheadBytesOf = ({ options, memoryLimit }: Body, { cursorAheadBytesMax }: GatewayOptions): number => {
  if (options?.stream) return 0;
  return Math.min(cursorAheadBytesMax, (options?.memoryLimit || memoryLimit || Number.POSITIVE_INFINITY) / 4);
};

// A shorter life than asked for would lose a reader's results without a word.
const checkTtl = (ttl: number | undefined, { cursorTtlSeconds, cursorTtlMaxSeconds }: GatewayOptions): number => {
  if (ttl === undefined) return Math.min(cursorTtlSeconds, cursorTtlMaxSeconds);
  if (ttl <= cursorTtlMaxSeconds) return ttl;
  throw gatewayError('PARAMETER_BAD', `ttl: at most ${cursorTtlMaxSeconds} seconds (cursorTtlMaxSeconds)`, { data: { param: 'ttl' } });
};

const linkAbort = (signal: AbortSignal, target: AbortController): (() => void) => onAbort(signal, () => target.abort(signal.reason));

type Cursor = Awaited<ReturnType<QueryService['execute']>>;

/**
 * `count: true` asks how many results there are before the first is read: all must be found and held. Errors: QUERY_MEMORY_LIMIT,
 * PARAMETER_BAD beyond `countedResultsMax`.
 */
const counting = async (cursor: Cursor, resultsMax: number): Promise<{ readonly cursor: Cursor; readonly count: number }> => {
  const blocks: (readonly JsonValue[])[] = [];
  let { bufferedBytes } = cursor;
  let count = 0;
  for await (const block of cursor.blocks) {
    count += block.length;
    if (count > resultsMax) throw gatewayError('PARAMETER_BAD', `count: true holds all results, at most ${resultsMax}; read without it`);
    for (const value of block) bufferedBytes += cursor.held.hold(value);
    blocks.push(block);
  }
  const again = async function* () {
    yield* blocks;
  };
  const held = { hold: () => 0, release: () => undefined }; // buffered, and counted as that
  return { cursor: { ...cursor, blocks: again(), bufferedBytes, held }, count };
};

const requestOf = ({ database }: RouteContext, given: Body): Omit<QueryRequest, 'signal'> => {
  const { query, bindVars } = given;
  return { database, query, ...(bindVars === undefined ? {} : { bindVars }), options: optionsOf(given) };
};

const optionsOf = ({ memoryLimit, options }: Body): QueryOptions => {
  const limit = options?.memoryLimit ?? memoryLimit;
  const entries = {
    maxRuntime: options?.maxRuntime || undefined,
    memoryLimit: limit || undefined,
    maxWarningCount: options?.maxWarningCount,
    failOnWarning: options?.failOnWarning,
    optimizerRules: options?.optimizer?.rules,
  };
  return Object.fromEntries(Object.entries(entries).filter(([, value]) => value !== undefined)) as QueryOptions;
};

const batchAnswer = (status: number, { id, result, hasMore, extra }: CursorBatch, count?: number): HttpResponse =>
  responses.arango(status, {
    ...(id === undefined ? {} : { id }),
    result,
    hasMore,
    cached: false,
    ...(count === undefined ? {} : { count }),
    ...(extra ? { extra } : {}),
  });
