import { type FileHandle, open } from 'node:fs/promises';
import type { OstrakaError } from '../../../base/index.js';
import { type HubDownload, platformError } from '../../index.js';

interface Receiving extends HubDownload {
  /** Bytes that are there already. */
  readonly from: number;
  /** For people. */
  readonly file: string;
  readonly reserveBytes: number;
  readonly onBytes: (bytes: number) => void;
}

const magic = Buffer.from('GGUF');

/**
 * Writes the body of an answer where it belongs in the file: behind what is there, or over it where the whole content comes. `cut`: the
 * answer ended early. Errors: MODEL_INVALID (no GGUF file, or more bytes than were told), STORE_FULL.
 */
export async function receiveFile(
  response: Response,
  request: Receiving,
): Promise<{ readonly kind: 'whole' } | { readonly kind: 'cut'; readonly error: OstrakaError }> {
  const { to, from, file, onBytes, onProgress } = request;
  const { start, total } = partOf(response, from);
  if (start === undefined)
    return { kind: 'cut', error: platformError('MODEL_FETCH_FAILED', `the hub sent another part of ${file} than was asked for`) };
  checkType(response, file);
  const endMax = await checkRoom(request, start, total);
  const handle = await open(to, start === 0 ? 'w+' : 'r+');
  try {
    let position = start;
    for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      if (position + chunk.length > endMax) throw tooLong(request, total);
      await writeAt(handle, chunk, position, to);
      if (position < magic.length) await checkMagic(handle, position + chunk.length, file);
      position += chunk.length;
      onBytes(chunk.length);
      onProgress(position, total);
    }
    if (total === undefined || position === total) return { kind: 'whole' };
    return {
      kind: 'cut',
      error: platformError('MODEL_FETCH_FAILED', `the connection ended after ${position} of ${total} bytes of ${file}`),
    };
  } finally {
    await handle.close();
  }
}

/** Where the body begins (undefined: elsewhere than was asked for), and how long the whole content is, where it tells. */
const partOf = (
  { status, headers }: Response,
  from: number,
): { readonly start: number | undefined; readonly total: number | undefined } => {
  const length = headers.get('content-length');
  if (status !== 206) return { start: 0, total: length === null ? undefined : Number(length) };
  const [, start, total] = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(headers.get('content-range') ?? '') ?? [];
  const told = length === null ? undefined : from + Number(length);
  return { start: Number(start) === from ? from : undefined, total: total === undefined || total === '*' ? told : Number(total) };
};

const checkType = (response: Response, file: string): void => {
  const type = response.headers.get('content-type') ?? '';
  if (/^text\/html\b/i.test(type))
    throw platformError('MODEL_FETCH_FAILED', `the hub, or something before it, sent a page instead of ${file}`);
};

/** The end that the file may not pass: what was told, or what fits. */
const checkRoom = async (request: Receiving, start: number, total: number | undefined): Promise<number> => {
  const room = Math.max(0, (await request.freeBytes()) - request.reserveBytes);
  if (total === undefined) return start + room;
  if (total - start <= room) return total;
  throw platformError(
    'STORE_FULL',
    `${request.file} needs ${total - start} more bytes, and ${room} may be written to the disk of ${request.to}`,
    {
      data: { neededBytes: total - start, freeBytes: room },
    },
  );
};

const tooLong = ({ file, to }: Receiving, total: number | undefined): OstrakaError =>
  total === undefined
    ? platformError('STORE_FULL', `${file} does not fit on the disk of ${to}`)
    : platformError('MODEL_INVALID', `the hub sends more than the ${total} bytes of ${file}`);

const writeAt = async (handle: FileHandle, chunk: Uint8Array, position: number, to: string): Promise<void> => {
  try {
    await handle.write(chunk, 0, chunk.length, position);
  } catch (error) {
    const isFull = ['ENOSPC', 'EDQUOT', 'EFBIG'].includes((error as NodeJS.ErrnoException).code ?? '');
    throw isFull ? platformError('STORE_FULL', `no room for ${to}`, { cause: error }) : error;
  }
};

/** A page, an error or another format is known by the first bytes, before gigabytes of it have come. */
const checkMagic = async (handle: FileHandle, bytes: number, file: string): Promise<void> => {
  if (bytes < magic.length) return;
  const { buffer } = await handle.read(Buffer.alloc(magic.length), 0, magic.length, 0);
  if (!buffer.equals(magic)) throw platformError('MODEL_INVALID', `what the hub sends as ${file} is no GGUF file`);
};
