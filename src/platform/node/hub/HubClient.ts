import { stat, truncate } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { OstrakaError, toAbortError } from '../../../base/index.js';
import { type HubDownload, type HubFile, type HubOffer, type ModelHub, platformError } from '../../index.js';
import { type HubAddress, type HubAnswer, HubConnection } from './HubConnection.js';
import type { HubLimits } from './HubLimits.js';
import { ProgressWatch } from './ProgressWatch.js';
import { receiveFile } from './receiveFile.js';

/** How one attempt of a download ended that did not fail for good. */
type Attempt = { readonly kind: 'whole' } | { readonly kind: 'cut'; readonly error: OstrakaError };

/**
 * ModelHub over HTTP, with the paths that the hub's own clients use: `/api/models/OWNER/NAME/revision/REVISION` for commit and files,
 * `/OWNER/NAME/resolve/COMMIT/FILE` for the bytes. A download that is cut goes on where it was.
 */
export class HubClient implements ModelHub {
  readonly #connection: HubConnection;
  readonly #limits: HubLimits;

  constructor(address: HubAddress, limits: HubLimits) {
    this.#connection = new HubConnection(address, limits);
    this.#limits = limits;
  }

  async list(
    { owner, repository, revision }: { readonly owner: string; readonly repository: string; readonly revision: string },
    signal: AbortSignal,
  ): Promise<{ readonly commit: string; readonly files: readonly string[] }> {
    const what = `${owner}/${repository}@${revision}`;
    return this.#inTime(what, signal, async (timed) => {
      const path = `/api/models/${owner}/${repository}/revision/${encodeURIComponent(revision)}`;
      const { response } = await this.#connection.ask(path, { method: 'GET', headers: { accept: 'application/json' }, signal: timed });
      checkStatus(response, what);
      const listing = toListing(await this.#readJson(response));
      if (listing === undefined)
        throw platformError('MODEL_FETCH_FAILED', `the hub's list of files of ${what} has another form than is known`);
      return listing;
    });
  }

  async look(file: HubFile, signal: AbortSignal): Promise<HubOffer> {
    return this.#inTime(file.file, signal, async (timed) => {
      const answer = await this.#connection.ask(pathOf(file), { method: 'HEAD', signal: timed, staysHere: true });
      if (answer.response.status >= 400) checkStatus(answer.response, file.file);
      return offerOf(answer);
    });
  }

  async download(file: HubFile, request: HubDownload): Promise<void> {
    const { attemptsMax, retryDelayMs, progressBytesMin } = this.#limits;
    let failures = 0;
    for (;;) {
      const before = await sizeOf(request.to);
      const attempt = await this.#attempt(file, request, before);
      if (attempt.kind === 'whole') return;
      failures = (await sizeOf(request.to)) - before >= progressBytesMin ? 1 : failures + 1;
      if (failures >= attemptsMax) throw attempt.error;
      await sleep(retryDelayMs * 2 ** (failures - 1), undefined, { signal: request.signal }).catch(() => {
        throw toAbortError(request.signal);
      });
    }
  }

  async #attempt(file: HubFile, request: HubDownload, from: number): Promise<Attempt> {
    const { progressMs, progressBytesMin, reserveBytes } = this.#limits;
    const stalled = new AbortController();
    const reason = platformError(
      'MODEL_FETCH_FAILED',
      `the hub sent less than ${progressBytesMin} bytes of ${file.file} in ${progressMs} ms`,
    );
    const watch = new ProgressWatch({ ms: progressMs, bytesMin: progressBytesMin, onStalled: () => stalled.abort(reason) });
    try {
      const headers = { 'accept-encoding': 'identity', ...(from > 0 && { range: `bytes=${from}-` }) };
      const signal = AbortSignal.any([request.signal, stalled.signal]);
      const { response } = await this.#connection.ask(pathOf(file), { method: 'GET', headers, signal });
      if (response.status === 416) return await startAnew(response, { file, to: request.to });
      if (response.status === 429 || response.status >= 500) return cut(response, `the hub answers ${response.status}`);
      checkStatus(response, file.file);
      return await receiveFile(response, { ...request, from, file: file.file, reserveBytes, onBytes: (bytes) => watch.came(bytes) });
    } catch (thrown) {
      if (request.signal.aborted) throw toAbortError(request.signal);
      if (stalled.signal.aborted) return { kind: 'cut', error: reason };
      if (thrown instanceof OstrakaError) throw thrown;
      return { kind: 'cut', error: unreachable(file.file, thrown) };
    } finally {
      watch.stop();
      stalled.abort(); // ends a connection whose answer was not read to its end
    }
  }

  async #inTime<Value>(what: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<Value>): Promise<Value> {
    const { answerMsMax } = this.#limits;
    const late = AbortSignal.timeout(answerMsMax);
    try {
      return await work(AbortSignal.any([signal, late]));
    } catch (thrown) {
      if (signal.aborted) throw toAbortError(signal);
      if (thrown instanceof OstrakaError) throw thrown;
      if (late.aborted) throw platformError('MODEL_FETCH_FAILED', `the hub gave no answer about ${what} within ${answerMsMax} ms`);
      throw unreachable(what, thrown);
    }
  }

  async #readJson(response: Response): Promise<unknown> {
    const { answerBytesMax } = this.#limits;
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      bytes += chunk.length;
      if (bytes > answerBytesMax)
        throw platformError('MODEL_FETCH_FAILED', `the hub's list of files is longer than ${answerBytesMax} bytes`);
      chunks.push(chunk);
    }
    try {
      return JSON.parse(Buffer.concat(chunks).toString('utf8'));
    } catch {
      return undefined; // a page for people: another form
    }
  }
}

/** What the hub says of a revision; undefined where it has another form. The commit goes into paths. */
const toListing = (answer: unknown): { readonly commit: string; readonly files: readonly string[] } | undefined => {
  if (typeof answer !== 'object' || answer === null) return undefined;
  const { sha, siblings } = answer as { readonly sha?: unknown; readonly siblings?: unknown };
  if (typeof sha !== 'string' || !/^[0-9a-f]{40}$|^[0-9a-f]{64}$/.test(sha) || !Array.isArray(siblings)) return undefined;
  const files = siblings.map((one: { readonly rfilename?: unknown } | null) => one?.rfilename);
  return { commit: sha, files: files.filter((file) => typeof file === 'string') };
};

const pathOf = ({ owner, repository, commit, file }: HubFile): string =>
  `/${owner}/${repository}/resolve/${commit}/${file.split('/').map(encodeURIComponent).join('/')}`;

const sizeOf = (path: string): Promise<number> =>
  stat(path).then(
    ({ size }) => size,
    () => 0,
  );

const checkStatus = ({ status }: Response, what: string): void => {
  if (status === 401 || status === 403)
    throw platformError(
      'MODEL_ACCESS_REFUSED',
      `the hub refuses ${what} (${status}): it may not exist, or HF_TOKEN must be one that may read it`,
    );
  if (status === 404) throw platformError('MODEL_UNKNOWN', `the hub has no ${what}`);
  if (status !== 200 && status !== 206) throw platformError('MODEL_FETCH_FAILED', `the hub answers ${status} for ${what}`);
};

/** An entity tag is a digest where it has the length of one. */
const offerOf = ({ linked, response }: HubAnswer): HubOffer => {
  const digest = /^(?:W\/)?"?([0-9a-f]{64})"?$/i.exec(linked.etag ?? '')?.[1]?.toLowerCase();
  const size = linked.size ?? (response.status === 200 ? response.headers.get('content-length') : null);
  const bytes = size === null || !/^\d+$/.test(size) ? undefined : Number(size);
  return { digest, bytes };
};

const cut = async (response: Response, message: string): Promise<Attempt> => {
  await response.body?.cancel();
  return { kind: 'cut', error: platformError('MODEL_FETCH_FAILED', message) };
};

/** What is here already is all of it, or more than there is: then none of it is of this file. */
const startAnew = async (response: Response, { file, to }: { readonly file: HubFile; readonly to: string }): Promise<Attempt> => {
  const total = /^bytes \*\/(\d+)$/.exec(response.headers.get('content-range') ?? '')?.[1];
  if (total !== undefined && Number(total) === (await sizeOf(to))) {
    await response.body?.cancel();
    return { kind: 'whole' };
  }
  await truncate(to, 0);
  return cut(response, `the hub cannot go on with ${file.file} from where it was`);
};

const unreachable = (what: string, thrown: unknown): OstrakaError => {
  const cause = thrown instanceof Error && thrown.cause instanceof Error ? thrown.cause : thrown;
  const { code, message } = cause as { readonly code?: string; readonly message?: string };
  return platformError('MODEL_FETCH_FAILED', `the hub could not be asked for ${what}: ${code ?? message ?? 'the connection was lost'}`, {
    cause: thrown,
  });
};
