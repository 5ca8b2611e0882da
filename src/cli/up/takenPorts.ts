import { createServer } from 'node:net';
import type { UpOptions } from './UpOptions.js';

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });

/** Which of the ports of a cluster cannot be listened on now: HTTP of shard i on port+i, RPC on port+100+i. */
export async function takenPorts({ port, shards }: Pick<UpOptions, 'port' | 'shards'>): Promise<readonly number[]> {
  const wanted = Array.from({ length: shards }, (_, i) => [port + i, port + 100 + i]).flat();
  const taken: number[] = [];
  for (const one of wanted) if (!(await isFree(one))) taken.push(one);
  return taken;
}
