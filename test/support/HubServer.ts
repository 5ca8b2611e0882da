import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface AskedOfHub {
  /** `store`: where the hub keeps its bytes, another host. */
  readonly of: 'hub' | 'store';
  readonly method: string;
  readonly path: string;
  readonly authorization: string | undefined;
  readonly range: string | undefined;
}

export interface HubRepository {
  commit: string;
  files: { [path: string]: Buffer };
  /** What the hub tells of a file's digest, in the place of the true one; empty = nothing. */
  digest?: string;
}

/** Answers a request before the server does; false: it did not. */
export type HubScript = (asked: AskedOfHub, response: ServerResponse, content: Buffer | undefined) => boolean;

/** A model hub on loopback: lists of files, and bytes behind a redirect to another origin. */
export class HubServer {
  readonly asked: AskedOfHub[] = [];
  readonly repositories = new Map<string, HubRepository>();
  script: HubScript = () => false;
  readonly #hub: Server;
  readonly #store: Server;

  private constructor() {
    this.#hub = createServer((request, response) => this.#answer('hub', request, response));
    this.#store = createServer((request, response) => this.#answer('store', request, response));
  }

  static async start(): Promise<HubServer> {
    const opened = new HubServer();
    for (const server of [opened.#hub, opened.#store]) await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return opened;
  }

  get url(): string {
    return urlOf(this.#hub);
  }

  get storeUrl(): string {
    return urlOf(this.#store);
  }

  async stop(): Promise<void> {
    for (const server of [this.#hub, this.#store]) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  }

  #answer(of: AskedOfHub['of'], request: IncomingMessage, response: ServerResponse): void {
    const { authorization, range } = request.headers;
    const asked = { of, method: request.method ?? '', path: decodeURIComponent(request.url ?? ''), authorization, range };
    this.asked.push(asked);
    const [, owner, name, commit, file = ''] = /^\/([^/]+)\/([^/]+)\/resolve\/([^/]+)\/(.+)$/.exec(asked.path) ?? [];
    const repository = this.repositories.get(`${owner}/${name}`);
    const content = commit === repository?.commit ? repository?.files[file] : undefined;
    if (this.script(asked, response, content)) return;
    if (asked.path.startsWith('/api/models/')) this.#list(asked.path, response);
    else if (content === undefined) response.writeHead(404).end('Entry not found');
    else if (of === 'hub') this.#redirect(asked.path, response, { content, digest: repository?.digest });
    else sendPart(content, asked, response);
  }

  #list(path: string, response: ServerResponse): void {
    const [, place = ''] = /^\/api\/models\/([^/]+\/[^/]+)\/revision\/(.+)$/.exec(path) ?? [];
    const repository = this.repositories.get(place);
    if (repository === undefined) {
      response.writeHead(404).end('{"error":"Repository not found"}');
      return;
    }
    const siblings = Object.keys(repository.files).map((rfilename) => ({ rfilename }));
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ id: place, sha: repository.commit, siblings }));
  }

  #redirect(path: string, response: ServerResponse, told: { readonly content: Buffer; readonly digest: string | undefined }): void {
    const digest = told.digest ?? createHash('sha256').update(told.content).digest('hex');
    const linked = digest === '' ? {} : { 'x-linked-etag': `"${digest}"`, 'x-linked-size': String(told.content.length) };
    response.writeHead(302, { location: `${this.storeUrl}${path}`, ...linked }).end('Found');
  }
}

const urlOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

const sendPart = (content: Buffer, { method, range }: AskedOfHub, response: ServerResponse): void => {
  const from = Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0);
  if (from >= content.length) {
    response.writeHead(416, { 'content-range': `bytes */${content.length}` }).end();
    return;
  }
  const part = content.subarray(from);
  const headers = { 'content-type': 'application/octet-stream', 'content-length': part.length };
  if (from === 0) response.writeHead(200, headers);
  else response.writeHead(206, { ...headers, 'content-range': `bytes ${from}-${content.length - 1}/${content.length}` });
  response.end(method === 'HEAD' ? undefined : part);
};
