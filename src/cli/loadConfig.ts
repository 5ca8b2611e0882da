import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { parse } from 'yaml';
import { cliError } from './errors.js';
import { type StartConfig, startConfig } from './StartConfig.js';

const readYaml = async (path: string): Promise<unknown> => {
  try {
    return parse(await readFile(path, 'utf8'));
  } catch (error) {
    throw cliError('CONFIG_INVALID', `cannot read ${path}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
};

/** Reads and checks a shard's configuration file; paths come back absolute. Errors: CONFIG_INVALID, BIND_NOT_ALLOWED. */
export async function loadConfig(path: string): Promise<StartConfig> {
  const result = startConfig.safeParse(await readYaml(path));
  if (!result.success) {
    const [issue] = result.error.issues;
    throw cliError('CONFIG_INVALID', `${path}: ${issue?.path.join('.')}: ${issue?.message}`);
  }
  const config = absolute(result.data, dirname(resolve(path)));
  checkBind(config);
  return config;
}

const absolute = (config: StartConfig, folder: string): StartConfig => {
  const at = (file: string): string => resolve(folder, file);
  const { authority, certificate, key } = config.certificates;
  return {
    ...config,
    dataFolder: at(config.dataFolder),
    metadataFolder: at(config.metadataFolder),
    shard: withAbsoluteKey(config.shard, at),
    ...(config.adapterFolder !== undefined && { adapterFolder: at(config.adapterFolder) }),
    certificates: { authority: at(authority), certificate: at(certificate), key: at(key) },
    log: config.log.file === undefined ? config.log : { ...config.log, file: at(config.log.file) },
  };
};

const withAbsoluteKey = (shard: StartConfig['shard'], at: (file: string) => string): StartConfig['shard'] => {
  const { openai } = shard.engine;
  if (openai?.apiKeyFile === undefined) return shard;
  return { ...shard, engine: { ...shard.engine, openai: { ...openai, apiKeyFile: at(openai.apiKeyFile) } } };
};

const checkBind = ({ shard }: StartConfig): void => {
  const { host, apiKey } = shard.process;
  if (apiKey !== undefined || isLoopback(host)) return;
  throw cliError('BIND_NOT_ALLOWED', `refusing to listen on ${host} without credentials: set process.apiKey, or listen on 127.0.0.1`);
};

const isLoopback = (host: string): boolean => host === 'localhost' || host === '::1' || /^127\./.test(host);
