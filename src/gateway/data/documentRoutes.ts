import { z } from 'zod';
import { isObject, type JsonValue, OstrakaError, toOstrakaError } from '../../base/index.js';
import type { DocumentOutcome, DocumentRequest, DocumentService } from '../../execution/index.js';
import type { HttpResponse } from '../../platform/index.js';
import { checkDocumentKey, type StoredDocument, storageError } from '../../storage/index.js';
import { checkBody } from '../checkBody.js';
import { checkSupported } from '../checkSupported.js';
import { gatewayError } from '../errors.js';
import type { Route, RouteContext } from '../Route.js';
import { responses } from '../responses.js';

type Attributes = { readonly [name: string]: JsonValue };
type Done = Extract<DocumentOutcome, { readonly kind: 'done' }>;
type WriteKind = 'insert' | 'update' | 'replace' | 'remove';

const flag = z.enum(['true', 'false', '1', '0', 'yes', 'no', 'on', 'off']).transform((text) => ['true', '1', 'yes', 'on'].includes(text));
const queryOptions = z.looseObject({
  returnNew: flag.default(false),
  returnOld: flag.default(false),
  silent: flag.default(false),
  keepNull: flag.default(true),
  mergeObjects: flag.default(true),
  ignoreRevs: flag.default(true),
  overwrite: flag.default(false),
  overwriteMode: z.enum(['ignore', 'replace', 'update', 'conflict']).optional(),
  onlyget: flag.default(false),
});
type Options = z.infer<typeof queryOptions>;

// What these ask for would be another write than the one that happens.
const refused = ['isRestore', 'versionAttribute'];

/** Documents, one and many: ArangoDB's paths, with `_rev` checks by If-Match or by the body. */
export function documentRoutes(parts: { readonly documents: DocumentService; readonly documentsMax: number }): readonly Route[] {
  const writer = new DocumentWriter(parts);
  const style = 'arango' as const;
  const single = '/_api/document/:collection/:key';
  const many = '/_api/document/:collection';
  return [
    { method: 'GET', pattern: single, style, handle: (context) => writer.read(context) },
    { method: 'POST', pattern: many, style, handle: (context) => writer.write('insert', context) },
    {
      method: 'PUT',
      pattern: many,
      style,
      handle: (context) => (asksOnlyToGet(context) ? writer.readMany(context) : writer.write('replace', context)),
    },
    { method: 'PATCH', pattern: many, style, handle: (context) => writer.write('update', context) },
    { method: 'DELETE', pattern: many, style, handle: (context) => writer.write('remove', context) },
    { method: 'PUT', pattern: single, style, handle: (context) => writer.write('replace', context) },
    { method: 'PATCH', pattern: single, style, handle: (context) => writer.write('update', context) },
    { method: 'DELETE', pattern: single, style, handle: (context) => writer.write('remove', context) },
  ];
}

class DocumentWriter {
  readonly #documents: DocumentService;
  readonly #documentsMax: number;

  constructor(parts: { readonly documents: DocumentService; readonly documentsMax: number }) {
    this.#documents = parts.documents;
    this.#documentsMax = parts.documentsMax;
  }

  async read(context: RouteContext): Promise<HttpResponse> {
    const { database, parameters, request, signal } = context;
    const found = await this.#documents.read(database, parameters['collection'] as string, parameters['key'] as string, signal);
    const etag = { etag: `"${found._rev}"` };
    if (revisionsOf(request.headers['if-none-match'])?.some((one) => one === '*' || one === found._rev)) return responses.empty(304, etag);
    const wanted = wantedRevision(context);
    if (wanted !== undefined && wanted !== found._rev) throw revisionMismatch(found);
    return responses.json(200, found, etag);
  }

  async readMany(context: RouteContext): Promise<HttpResponse> {
    const selectors = this.#list(context.json());
    const outcomes = await this.#runEach(context, selectors, (selector) => ({
      kind: 'read',
      key: keyOf(selector, context.parameters['collection'] as string),
      document: {},
      options: {},
    }));
    return responses.json(
      200,
      outcomes.map((outcome) => (outcome.kind === 'done' ? outcome.new : responses.arangoErrorFields(outcome.error))),
      errorCodes(outcomes),
    );
  }

  async write(kind: WriteKind, context: RouteContext): Promise<HttpResponse> {
    const options = optionsOf(context);
    const { key } = context.parameters;
    const body = kind === 'remove' && key !== undefined ? {} : context.json();
    if (key === undefined && Array.isArray(body)) return this.#writeMany(kind, context, body, options);
    const [outcome] = await this.#run(context, [
      requestOf(kind, {
        body,
        key,
        collection: context.parameters['collection'] as string,
        options,
        ifMatch: kind === 'insert' ? undefined : wantedRevision(context),
      }),
    ]);
    if (outcome?.kind !== 'done') throw new OstrakaError((outcome as Extract<DocumentOutcome, { kind: 'error' }>).error);
    const shown = outcomeOf(context, outcome, options);
    const etag = outcome.new ?? outcome.old;
    return responses.json(kind === 'remove' ? 200 : 201, options.silent ? {} : shown, etag ? { etag: `"${etag._rev}"` } : {});
  }

  async #writeMany(kind: WriteKind, context: RouteContext, bodies: readonly JsonValue[], options: Options): Promise<HttpResponse> {
    const outcomes = await this.#runEach(context, this.#list(bodies), (body) =>
      requestOf(kind, { body, key: undefined, collection: context.parameters['collection'] as string, options, ifMatch: undefined }),
    );
    const shown = outcomes.map((outcome) =>
      outcome.kind === 'done'
        ? outcomeOf(context, outcome, options)
        : { ...outcome.error.data, ...responses.arangoErrorFields(outcome.error) },
    );
    const visible = options.silent ? shown.filter((one) => 'error' in one) : shown;
    return responses.json(kind === 'remove' ? 200 : 201, visible, errorCodes(outcomes));
  }

  #run(context: RouteContext, requests: readonly DocumentRequest[]): Promise<readonly DocumentOutcome[]> {
    return this.#documents.run(context.database, context.parameters['collection'] as string, requests, context.signal);
  }

  /** One that cannot even be asked for has its error in its place; the others run. */
  async #runEach(
    context: RouteContext,
    bodies: readonly JsonValue[],
    toRequest: (body: JsonValue) => DocumentRequest,
  ): Promise<DocumentOutcome[]> {
    const outcomes: DocumentOutcome[] = [];
    const asked: { readonly index: number; readonly request: DocumentRequest }[] = [];
    for (const [index, body] of bodies.entries()) {
      try {
        asked.push({ index, request: toRequest(body) });
      } catch (error) {
        outcomes[index] = { kind: 'error', error: toOstrakaError(error).toJson() };
      }
    }
    const run = await this.#run(
      context,
      asked.map(({ request }) => request),
    );
    for (const [i, { index }] of asked.entries()) outcomes[index] = run[i] as DocumentOutcome;
    return outcomes;
  }

  #list(body: JsonValue): readonly JsonValue[] {
    if (!Array.isArray(body)) throw gatewayError('PARAMETER_BAD', 'the body must be an array of documents or keys');
    if (body.length <= this.#documentsMax) return body;
    throw gatewayError('PARAMETER_BAD', `${body.length} documents in one request; the limit is ${this.#documentsMax}`);
  }
}

// A flag that is not understood must not turn a read into a replacement: the same words as for every other flag.
const asksOnlyToGet = ({ request }: RouteContext): boolean => checkBody(queryOptions, Object.fromEntries(request.query)).onlyget;

const optionsOf = ({ request }: RouteContext): Options => {
  checkSupported(Object.fromEntries(request.query), refused);
  return checkBody(queryOptions, Object.fromEntries(request.query));
};

/** A key from a key, an `_id`, or an object with either. */
const keyOf = (selector: JsonValue, collection: string): string => {
  const named = isObject(selector) ? (selector['_key'] ?? selector['_id']) : selector;
  if (typeof named !== 'string') throw gatewayError('PARAMETER_BAD', 'a document is named by a key, an _id, or an object with _key');
  const slash = named.indexOf('/');
  if (slash === -1) return named;
  if (named.slice(0, slash) === collection) return named.slice(slash + 1);
  throw gatewayError('PARAMETER_BAD', `${named.slice(0, 80)} names a document of another collection than ${collection}`);
};

const requestOf = (
  kind: WriteKind,
  given: {
    readonly body: JsonValue;
    readonly key: string | undefined;
    readonly collection: string;
    readonly options: Options;
    readonly ifMatch: string | undefined;
  },
): DocumentRequest => {
  const { body, options } = given;
  if (kind !== 'remove' && !isObject(body))
    throw storageError('DOCUMENT_TYPE_INVALID', 'invalid document type: a document is a JSON object');
  const document = isObject(body) ? body : {};
  const revision = given.ifMatch ?? (options.ignoreRevs || typeof document['_rev'] !== 'string' ? undefined : document['_rev']);
  const overwriteMode = options.overwriteMode ?? (options.overwrite ? 'replace' : undefined);
  const key = given.key ?? (kind === 'insert' ? keyOfInsert(document) : keyOf(body, given.collection));
  return {
    kind,
    key,
    document: kind === 'remove' ? {} : document,
    options: { keepNull: options.keepNull, mergeObjects: options.mergeObjects, revision, overwriteMode },
    returns: { new: options.returnNew, old: options.returnOld },
  };
};

// A key that is there but is no string is the client's mistake, not a wish for a new one.
const keyOfInsert = (document: Attributes): string | undefined => {
  const key = document['_key'];
  return key === undefined ? undefined : checkDocumentKey(key);
};

const outcomeOf = (context: RouteContext, outcome: Done, options: Options): object => {
  const shown = (outcome.new ?? outcome.old) as StoredDocument;
  const oldRevision = outcome.old ? { _oldRev: outcome.old._rev } : {};
  return {
    _id: `${context.parameters['collection']}/${shown._key}`,
    _key: shown._key,
    _rev: shown._rev,
    ...(outcome.new ? oldRevision : {}),
    ...(options.returnNew && outcome.new ? { new: outcome.new } : {}),
    ...(options.returnOld && outcome.old ? { old: outcome.old } : {}),
  };
};

const errorCodes = (outcomes: readonly DocumentOutcome[]): { readonly [name: string]: string } => {
  const counts = new Map<number, number>();
  for (const outcome of outcomes)
    if (outcome.kind === 'error') counts.set(outcome.error.errorNum, (counts.get(outcome.error.errorNum) ?? 0) + 1);
  return counts.size === 0 ? {} : { 'x-arango-error-codes': [...counts].map(([errorNum, count]) => `${errorNum}:${count}`).join(',') };
};

/** The revisions of a header like `"a", W/"b"` or `*`. */
const revisionsOf = (header: string | undefined): readonly string[] | undefined =>
  header?.split(',').map((one) => one.trim().replace(/^(?:W\/)?"(.*)"$/, '$1'));

/** The revision that must be there, by If-Match or by `rev`; `*` is any, and that there is one is checked anyway. Error PARAMETER_BAD. */
const wantedRevision = ({ request }: RouteContext): string | undefined => {
  const revisions = revisionsOf(request.headers['if-match'] ?? request.query.get('rev'));
  if (revisions === undefined || revisions.includes('*')) return undefined;
  if (revisions.length === 1 && revisions[0] !== '') return revisions[0];
  throw gatewayError('PARAMETER_BAD', 'If-Match: give one revision, or *', { data: { param: 'if-match' } });
};

const revisionMismatch = ({ _key, _id, _rev }: StoredDocument): OstrakaError =>
  storageError('REVISION_MISMATCH', `document ${_id} has another revision than the one given`, { data: { _key, _id, _rev } });
