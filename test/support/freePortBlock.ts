import { createServer } from 'node:net';

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });

/** The first port of a block that `up` can use for so many shards: HTTP from it on, RPC a hundred above. */
export async function freePortBlock(shards: number): Promise<number> {
  for (let port = 20_000 + (process.pid % 20_000); port < 60_000; port += 211) {
    const wanted = Array.from({ length: shards }, (_, i) => [port + i, port + 100 + i]).flat();
    if ((await Promise.all(wanted.map(isFree))).every(Boolean)) return port;
  }
  throw new Error('no block of free ports');
}
