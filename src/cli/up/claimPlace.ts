import { access } from 'node:fs/promises';
import { openDataFolder } from '../openDataFolder.js';
import { checkPorts } from './checkPorts.js';
import type { UpOptions } from './UpOptions.js';

/**
 * Claims the data folder and looks at the ports. A folder that is there goes first: that it is in use says more than that its ports are.
 * One that is not is made only where the ports are free, so that a refused start leaves nothing behind. Errors: PORT_IN_USE,
 * DATA_FOLDER_IN_USE, DATA_FORMAT_NEWER, CONFIG_INVALID.
 */
export async function claimPlace(options: Pick<UpOptions, 'dataFolder' | 'port' | 'shards'>): Promise<void> {
  const isThere = await access(options.dataFolder).then(
    () => true,
    () => false,
  );
  if (!isThere) await checkPorts(options);
  await openDataFolder(options.dataFolder);
  if (isThere) await checkPorts(options);
}
