import { type AdapterFiles, platformError } from '../../src/platform/index.js';

/** A shard whose machine has no adapter files: simulated adapters come by its configuration. */
export const noAdapterFiles: AdapterFiles = {
  describe: (path) => Promise.reject(platformError('ADAPTER_INVALID', `adapter ${path}: the file cannot be opened (ENOENT)`)),
  readSaved: async () => [],
  writeSaved: async () => undefined,
};
