import { fork } from 'node:child_process';
import { stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describeBytes, OstrakaError, type OstrakaErrorJson } from '../../base/index.js';
import { platformError } from '../../platform/index.js';
import type { QuantizeRequest } from '../../platform/node/index.js';

export interface ChildQuantizeRequest extends QuantizeRequest {
  /** What the file will take, about. */
  readonly bytes: number;
  readonly onProgress: (doneBytes: number) => void;
}

const pollMs = 200;
const stderrCharactersMax = 2_000;
/** A disk with less than this was full when the work failed. */
const roomBytesMin = 1 << 20;

/** Quantises a model in a process of its own: a fault of native code ends that one. Errors: MODEL_INVALID, STORE_FULL. */
export async function quantizeInChild(request: ChildQuantizeRequest): Promise<void> {
  const free = await roomFor(request.to);
  if (free < request.bytes)
    throw platformError(
      'STORE_FULL',
      `${request.to} takes about ${describeBytes(request.bytes)}, its disk has ${describeBytes(free)} free`,
    );
  const timer = setInterval(() => {
    void stat(request.to).then(
      ({ size }) => request.onProgress(Math.min(size, request.bytes)),
      () => undefined,
    );
  }, pollMs);
  try {
    await run(request);
  } catch (error) {
    if ((await roomFor(request.to)) >= roomBytesMin) throw error;
    throw platformError('STORE_FULL', `the disk of ${request.to} is full`, { cause: error });
  } finally {
    clearInterval(timer);
  }
}

const roomFor = async (path: string): Promise<number> => {
  const { bavail, bsize } = await statfs(dirname(path));
  return bavail * bsize;
};

const run = ({ from, to, fileType }: QuantizeRequest): Promise<void> =>
  new Promise((resolve, reject) => {
    const mainPath = fileURLToPath(new URL('./main.js', import.meta.url));
    const child = fork(mainPath, [from, to, String(fileType)], { stdio: ['ignore', 'ignore', 'pipe', 'ipc'], execArgv: [] });
    let stderr = '';
    let failure: OstrakaError | undefined;
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      stderr = (stderr + text).slice(-stderrCharactersMax);
    });
    child.on('message', (error) => {
      failure = new OstrakaError(error as OstrakaErrorJson);
    });
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (code === 0) resolve();
      else if (signal === 'SIGXFSZ') reject(platformError('STORE_FULL', `${to} is larger than the system allows`));
      else
        reject(failure ?? platformError('MODEL_INVALID', `llama.cpp ended while it quantised ${from} (${reasonOf(code, signal, stderr)})`));
    });
  });

const reasonOf = (code: number | null, signal: string | null, stderr: string): string => {
  const words = stderr.trim().split('\n').at(0) ?? '';
  return `${signal ?? `exit code ${code}`}${words === '' ? '' : `: ${words}`}`;
};
