import { platformError } from '../../platform/index.js';
import { takenPorts } from './takenPorts.js';
import type { UpOptions } from './UpOptions.js';

/** Looks at all ports before anything starts, so that the message names the one that is taken. Errors: PORT_IN_USE. */
export async function checkPorts(options: Pick<UpOptions, 'port' | 'shards'>): Promise<void> {
  const [port] = await takenPorts(options);
  if (port !== undefined)
    throw platformError('PORT_IN_USE', `port ${port} is taken: choose another with --port, or stop the program that uses it`);
}
