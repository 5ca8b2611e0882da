import { type ChildProcess, spawn } from 'node:child_process';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export interface PeerServer {
  /** `http://host:port`, without `/v1`. */
  readonly url: string;
  close(): Promise<void>;
}

const startMsMax = 60_000;

/** llama-server of a folder of peer programs on one model file, once it answers. Rejects when it does not within a minute. */
export async function openPeerServer(given: {
  readonly folder: string;
  readonly modelPath: string;
  /** Options of the program: threads, context, slots. */
  readonly options: readonly string[];
}): Promise<PeerServer> {
  const port = await freePort();
  const args = ['-m', given.modelPath, ...given.options, '--host', '127.0.0.1', '--port', String(port), '--no-ui'];
  const child = spawn(join(given.folder, 'llama-server'), args, { cwd: given.folder, stdio: 'ignore' });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()).once('error', () => resolve()));
  const url = `http://127.0.0.1:${port}`;
  if (await isUp(url, child)) return { url, close: () => end(child, ended) };
  child.kill('SIGKILL');
  throw new Error('llama-server did not start');
}

const end = async (child: ChildProcess, ended: Promise<void>): Promise<void> => {
  child.kill('SIGTERM');
  await ended;
};

async function isUp(url: string, child: ChildProcess): Promise<boolean> {
  const endMs = performance.now() + startMsMax;
  while (performance.now() < endMs && child.exitCode === null) {
    const answered = await fetch(`${url}/health`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (answered) return true;
    await sleep(100);
  }
  return false;
}

/** Free a moment ago: the program does not tell which one it took when asked for any. */
const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
