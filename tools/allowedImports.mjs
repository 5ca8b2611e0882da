// The borders: what each module of src/ may import, as data. Checked by dependency-cruiser (tools/borders.mjs) and printed into
// docs/ARCHITECTURE.md by a test. Every module may import `base`; what a named module imports is not included.
// Modules that nothing stands in yet are absent: a folder is created when it holds something that works.
export const allowedImports = {
  base: { imports: [], npm: ['@noble/hashes', 'xxhash-wasm'] },
  protocol: { imports: [], npm: ['zod'] },
  platform: { imports: ['protocol'], npm: [] },
  'platform/node': {
    imports: ['platform', 'protocol'],
    npm: ['koffi', 'lmdb', '@peculiar/x509', 'reflect-metadata', 'fastify', 'pino', 'prom-client', '@node-llama-cpp/*'],
  },
  storage: { imports: ['platform'], npm: ['zod'] },
  rpc: { imports: ['platform', 'protocol'], npm: ['zod'] },
  inference: { imports: ['platform', 'protocol'], npm: ['@huggingface/jinja', 'zod'] },
  models: { imports: ['platform', 'protocol'], npm: ['zod'] },
  aql: { imports: [], npm: ['re2js', 'zod'] },
  membership: { imports: ['platform', 'protocol', 'rpc'], npm: ['zod'] },
  sharding: { imports: ['platform', 'protocol', 'rpc', 'storage'], npm: ['zod'] },
  routing: { imports: ['membership', 'sharding'], npm: ['zod'] },
  transactions: { imports: ['platform', 'protocol', 'rpc', 'storage', 'sharding'], npm: ['zod'] },
  cooperation: { imports: ['platform', 'protocol', 'rpc', 'membership', 'sharding', 'routing', 'models'], npm: ['zod'] },
  execution: {
    imports: ['aql', 'storage', 'sharding', 'membership', 'models', 'transactions', 'cooperation', 'rpc', 'platform', 'protocol'],
    npm: ['zod'],
  },
  // Prompts are written by the engine's own chat template, so that an adapter meets in use what it was trained on.
  training: { imports: ['platform', 'protocol', 'rpc', 'membership', 'models', 'inference', 'storage'], npm: ['zod'] },
  gateway: {
    imports: ['aql', 'execution', 'cooperation', 'models', 'training', 'membership', 'sharding', 'storage', 'rpc', 'platform', 'protocol'],
    npm: ['zod'],
  },
  shard: {
    imports: [
      'aql',
      'cooperation',
      'execution',
      'gateway',
      'inference',
      'membership',
      'models',
      'platform',
      'protocol',
      'routing',
      'rpc',
      'sharding',
      'storage',
      'training',
      'transactions',
    ],
    npm: ['zod'],
  },
  client: { imports: ['protocol'], npm: [] },
  cli: {
    imports: ['shard', 'platform', 'platform/node', 'models', 'training', 'client', 'protocol', 'sim'],
    npm: ['commander', 'yaml', 'zod'],
  },
};

/** `node:*` is for these alone. */
export const nodeModules = ['platform/node', 'cli'];
