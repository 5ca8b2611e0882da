import { createServer } from 'node:net';
import { platformError } from '../../platform/index.js';
import type { UpOptions } from './UpOptions.js';

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });

/** Looks at all ports before anything starts, so that the message names the one that is taken. Errors: PORT_IN_USE. */
export async function checkPorts(options: Pick<UpOptions, 'port' | 'shards'>): Promise<void> {
  for (let i = 0; i < options.shards; i++) {
    for (const port of [options.port + i, options.port + 100 + i]) {
      if (!(await isFree(port)))
        throw platformError('PORT_IN_USE', `port ${port} is taken: choose another with --port, or stop the program that uses it`);
    }
  }
}
